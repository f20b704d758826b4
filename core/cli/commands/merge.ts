/** `headscope merge STORE… --out F`: the shares of a plan joined, checked for missing, doubled and foreign ones. */
import { resolve } from 'node:path'
import { command, UsageError } from '../command.ts'

export const merge = command({
  name: 'merge',
  usage: 'STORE… --out F.db [options]',
  summary: 'Joins the shares of a plan into the file that one machine would have written',
  detail:
    'Every share must be there once, complete, of one plan, and computed by one version on the same weights; what is wrong is named and nothing is written. The result is a workspace: serve --store and sql read it.',
  examples: [
    'headscope merge plan.*-of-8.db --out plan.db',
    'headscope sql plan.db "select layer, head, value from head_score order by value desc limit 5"',
  ],
  options: {
    out: { type: 'text', value: 'F.db', help: 'the joined workspace; must not exist yet' },
  },
  takes: [1, 100_000],
  abrupt: true,
  async run({ values, positionals, out }) {
    if (values.out === undefined) throw new UsageError('merge needs --out F.db: the file to write')
    const file = resolve(values.out)
    const { mergeShards } = await import('../../plan/shards.ts')
    const { planHash, shards, cells } = mergeShards(
      positionals.map((path) => resolve(path)),
      file,
    )
    if (out.json) {
      out.document({ plan: planHash, shards, cells, done: cells, out: file, warnings: [] })
      return 0
    }
    out.line(`${shards} ${shards === 1 ? 'shard' : 'shards'} with ${cells} cells joined in ${file}`)
    return 0
  },
})
