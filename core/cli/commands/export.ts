/** `headscope export RUN --out F`: a stored run or experiment as a file. Nothing is computed. */
import { resolve } from 'node:path'
import { command, UsageError } from '../command.ts'

export const exportStored = command({
  name: 'export',
  usage: 'RUN --out F [options]',
  summary: 'Writes a stored run, score table or experiment as safetensors, .npz, CSV or JSON',
  detail:
    'RUN is a run’s number, or experiment:3 (scans are experiments: their CSV is the score table). The ending of --out is the format: .safetensors and .npz hold tensors with input_ids, .csv predictions or scores, .json everything but tensors.',
  examples: [
    'headscope export 12 --out run.safetensors',
    'headscope export 12 --out run.npz',
    'headscope export experiment:3 --out scores.csv',
  ],
  options: {
    out: { type: 'text', value: 'F', help: 'the file; its ending is the format' },
    store: { type: 'text', value: 'FILE', help: 'workspace that holds it (default: the user’s)' },
  },
  takes: [1, 1],
  async run({ values, positionals, out }) {
    if (values.out === undefined) throw new UsageError('export needs --out: the file to write')
    const file = resolve(values.out)
    const [{ storePath }, { openStore }, exchange] = await Promise.all([
      import('../store.ts'),
      import('../../store/capture-store.ts'),
      import('../../exchange/export.ts'),
    ])
    const store = openStore(storePath({ store: values.store, 'no-store': false })!, { readonly: true })
    try {
      const done = exchange.exportStored(store, positionals[0]!, file)
      if (out.json) out.document({ ...done, out: file, warnings: [] })
      else out.line(`${done.kind} ${done.id} written to ${file}`)
      return 0
    } finally {
      store.close()
    }
  },
})
