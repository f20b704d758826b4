import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../cli/commands.ts'
import { readArguments } from '../cli/options.ts'
import type { ReproduceRequest } from './contract.ts'
import { commandOf, quoted, reproduce } from './reproduce.ts'

const metric = { kind: 'logit_diff', answer: " it's", wrong: 9 } as const
const pair = { clean: { text: 'a "b" $c `d`', bos: 'no' }, corrupt: { text: "x'y\nz", bos: 'no' } } as const
const REQUESTS: ReproduceRequest[] = [
  {
    kind: 'run',
    request: {
      model: 'induction-2l',
      prompt: { text: "it's 5 o'clock", bos: 'yes' },
      edits: [{ hook: 'blocks.1.attn.hook_z', head: [0, 2], op: 'zero' }],
    },
  },
  { kind: 'scan', request: { model: '/a folder/m', scores: ['induction'], length: 24, seed: 3 } },
  {
    kind: 'ablate',
    request: {
      model: 'm',
      prompt: { ids: [1, 2, 3] },
      over: 'heads',
      kind: 'mean',
      metric,
      reference: [{ text: 'one' }, { ids: [4, 5] }],
      meanOver: 'all',
    },
  },
  {
    kind: 'patch',
    request: { model: 'm', ...pair, site: 'z', by: 'layer,head', direction: 'noise', metric },
  },
  {
    kind: 'path',
    request: { model: 'm', ...pair, from: ['L0H1', 'L1.mlp'], to: ['logits'], mlps: 'freeze', metric },
  },
  {
    kind: 'attribute',
    request: { model: 'm', ...pair, sites: ['z', 'q'], verify: 5, gradDrop: true, metric },
  },
]

/** What a real shell makes of a command line. */
function wordsIn(command: string): string[] {
  const script = `for word in "$@"; do printf '%s\\0' "$word"; done`
  const out = execFileSync('/bin/sh', ['-c', `set -- ${command}\n${script}`], { encoding: 'utf8' })
  return out.split('\0').slice(0, -1)
}

describe('reproduction', () => {
  test.each([["it's"], [''], ['a b'], ['$HOME `ls` "x" \\ !'], ['line\nbreak'], ['ünï']])(
    '%j survives a shell',
    (word) => {
      expect(wordsIn(quoted(word))).toEqual([word])
    },
  )

  test.each(REQUESTS)('$kind: every option is one that the command has', (asked) => {
    const [program, name, ...rest] = wordsIn(commandOf(asked))
    expect([program, name]).toEqual(['headscope', asked.kind])
    const { values, positionals } = readArguments(COMMANDS.find((one) => one.name === name)!, rest)
    expect(positionals).toEqual([asked.request.model])
    if ('metric' in asked.request) expect(JSON.parse(values.metric as string)).toEqual(asked.request.metric)
    if ('clean' in asked.request) expect(values.corrupt).toBe("x'y\nz")
  })

  test('a script opens the folder and calls the function', () => {
    const { script } = reproduce(REQUESTS[3]!, '/models/it is')
    expect(script).toContain("import { patch, openModel } from 'headscope'")
    expect(script).toContain('openModel("/models/it is")')
    expect(script).toContain('await patch(model, clean, corrupt, { site: "z"')
  })
})
