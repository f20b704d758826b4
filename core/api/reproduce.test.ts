import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../cli/commands.ts'
import { readArguments } from '../cli/options.ts'
import type { ReproduceRequest } from './contract.ts'
import { commandOf, reproduce } from './reproduce.ts'
import { quoted } from './reproduce-words.ts'

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
    kind: 'path',
    request: {
      model: 'm',
      ...pair,
      edges: [
        { from: 'embed', to: 'L0H1.v' },
        { from: 'L0H1', to: 'L1H2.k' },
      ],
      metric,
    },
  },
  {
    kind: 'attribute',
    request: { model: 'm', ...pair, sites: ['z', 'q'], verify: 5, gradDrop: true, metric },
  },
  {
    kind: 'lens',
    request: {
      model: 'm',
      prompt: { text: 'a b' },
      positions: [0, -1],
      layers: [1],
      answer: " it's",
      top: 3,
    },
  },
  {
    kind: 'dla',
    request: {
      model: 'm',
      prompt: { ids: [1, 2] },
      answer: 5,
      wrong: ' b',
      pos: 1,
      sources: true,
      value_bias: 'bias',
    },
  },
  { kind: 'weights', request: { model: 'm', fold: false, composition: false } },
  { kind: 'generate', request: { model: 'm', prompt: { text: "it's" }, max: 4, chat: true } },
  {
    kind: 'generate',
    request: { model: 'm', prompt: { ids: [1, 2], bos: 'no' }, max: 2, temperature: 0.5, seed: 3 },
  },
  { kind: 'pairs', request: { model: 'm', layer: 1, head: 2, circuit: 'qk', count: 7 } },
  {
    kind: 'summary',
    request: { model: 'm', prompt: { text: 'a' }, kind: 'rollout', pos: 3, without_first: true },
  },
  {
    kind: 'compare',
    request: {
      a: 'm',
      b: 'n',
      prompts: [{ text: 'x' }, { ids: [1] }],
      scores: ['induction'],
      batch: 4,
      seed: 2,
      match: true,
      weights: ['ov'],
    },
  },
  {
    kind: 'spans',
    request: {
      model: 'm',
      prompts: [{ text: "it's" }],
      hit: 'weight',
      threshold: 0.3,
      check: true,
      heads: [{ layer: 1, head: 3 }],
    },
  },
]

/** What a real shell makes of a command line. */
function wordsIn(command: string): string[] {
  const script = `for word in "$@"; do printf '%s\\0' "$word"; done`
  const out = execFileSync('/bin/sh', ['-c', `set -- ${command}\n${script}`], { encoding: 'utf8' })
  return out.split('\0').slice(0, -1)
}

describe('reproduction', () => {
  test('a word is quoted where a shell would take it apart', () => {
    expect(quoted('models/induction-2l')).toBe('models/induction-2l')
    expect(quoted('my work.db')).toBe("'my work.db'")
    expect(quoted("it's")).toBe("'it'\\''s'")
    expect(quoted('')).toBe("''")
  })

  test.each([["it's"], [''], ['a b'], ['$HOME `ls` "x" \\ !'], ['line\nbreak'], ['ünï']])(
    '%j survives a shell',
    (word) => {
      expect(wordsIn(quoted(word))).toEqual([word])
    },
  )

  test.each(REQUESTS)('$kind: every option is one that the command has', (asked) => {
    const [program, name, ...rest] = wordsIn(commandOf(asked, { path: '/m' })!)
    const command = { pairs: 'weights', summary: 'rollout' }[asked.kind as string] ?? asked.kind
    expect([program, name]).toEqual(['headscope', command])
    const { values, positionals } = readArguments(COMMANDS.find((one) => one.name === name)!, rest)
    expect(positionals).toEqual(
      'a' in asked.request ? [asked.request.a, asked.request.b] : [asked.request.model],
    )
    if ('metric' in asked.request) expect(JSON.parse(values.metric as string)).toEqual(asked.request.metric)
    if ('clean' in asked.request) expect(values.corrupt).toBe("x'y\nz")
  })

  test('a script opens the folder and calls the function', () => {
    const { script } = reproduce(REQUESTS[3]!, { path: '/models/it is' })
    expect(script).toContain("import { patch, openModel } from 'headscope'")
    expect(script).toContain('openModel("/models/it is")')
    expect(script).toContain('await patch(model, clean, corrupt, { site: "z"')
  })

  test('where a decoder reads an encoder, its texts are named apart and a script reads the text first', () => {
    const [clean, corrupt] = ['Das Haus', 'Das Hemd'].map((text) => ({
      text: 'the house',
      decoder: { text },
    }))
    const { command, script } = reproduce(
      { kind: 'patch', request: { model: 'm', clean: clean!, corrupt: corrupt!, site: 'cross_z', metric } },
      { path: '/m' },
    )
    const words = wordsIn(command!)
    expect(words[words.indexOf('--clean-decoder') + 1]).toBe('Das Haus')
    expect(words[words.indexOf('--corrupt-decoder') + 1]).toBe('Das Hemd')
    readArguments(COMMANDS.find((one) => one.name === 'patch')!, words.slice(2))
    expect(script).toContain('const reading = await model.reading(model.encode("the house"))')
    expect(script).toContain('const corrupt = decoderPrompt(model, "Das Hemd")')
    expect(script).toContain('await patch(reading, clean, corrupt')
    expect(script).toContain("import { patch, decoderPrompt, openModel } from 'headscope'")
  })

  test('a head over the source: a script reads the source, then takes it apart', () => {
    const prompt = { ids: [5, 9], decoder: { ids: [0, 4] } }
    const request = { model: 'm', prompt, layer: 1, head: 2, cross: true }
    const { command, script } = reproduce({ kind: 'bench', request }, { path: '/m' })
    expect(command).toBeNull()
    expect(script).toContain('const reading = await model.reading([5,9])')
    expect(script).toMatch(/headRun\(reading, \[0, ?4\], \{ layer: 1, head: 2, cross: true \}\)/)
  })

  test('two texts of the encoder: a script reads both', () => {
    const [clean, corrupt] = ['the house', 'the shirt'].map((text) => ({ text, decoder: { ids: [0, 5] } }))
    const { command, script } = reproduce(
      { kind: 'patch', request: { model: 'm', clean: clean!, corrupt: corrupt!, site: 'cross_z', metric } },
      { path: '/m' },
    )
    const words = wordsIn(command!)
    expect(words[words.indexOf('--corrupt') + 1]).toBe('the shirt')
    expect(script).toContain('const reading = await model.reading(model.encode("the house"))')
    expect(script).toContain('const corruptModel = await model.reading(model.encode("the shirt"))')
    expect(script).toMatch(/await patch\(reading, clean, corrupt, \{ .*, corruptModel \}\)/)
  })

  test('an edited attribution, an edited lens and a head taken apart have a script and no command', () => {
    const prompt = { ids: [1, 2] }
    const edits = [{ hook: 'blocks.0.hook_mlp_out', op: 'zero' }] as const
    const scriptOnly: ReproduceRequest[] = [
      { kind: 'dla', request: { model: 'm', prompt, answer: 3, edits } },
      { kind: 'lens', request: { model: 'm', prompt, edits } },
      { kind: 'bench', request: { model: 'm', prompt, layer: 1, head: 2 } },
    ]
    const made = scriptOnly.map((asked) => reproduce(asked, { path: '/m' }))
    expect(made.map(({ command }) => command)).toEqual([null, null, null])
    for (const { script } of made.slice(0, 2)) expect(script).toContain('"op":"zero"')
    expect(made[2]!.script).toContain('firstPrinciples.headRun(model, [1,2], { layer: 1, head: 2 })')
  })

  test('a relation probe writes its sentences to a file first, whatever they hold', () => {
    const shell = (line: string) => execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' })
    const template = { name: "it's", template: 'A {target} $HOME `ls`', slots: { target: ['a"b'] } }
    const { command, script } = reproduce(
      { kind: 'relation', request: { model: 'm', template } },
      { path: '/m' },
    )
    const [writes, asks] = command!.split('\n')
    expect(asks).toBe('headscope relation m --template template.json')
    expect(JSON.parse(shell(writes!.replace(' > template.json', '')))).toEqual(template)
    expect(script).toContain('relationProbe(model, relationTriples(model, {"name":"it\'s"')
    const triple = { prompt: { ids: [1, 2, 3] }, query: 2, target: 1, distractor: 0 }
    const many: ReproduceRequest = { kind: 'relation', request: { model: 'm', triples: [triple, triple] } }
    const lines = shell(reproduce(many, { path: '/m' }).command!.split(' > ')[0]!)
      .trim()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      Array(2).fill({ ids: [1, 2, 3], query: 2, target: 1, distractor: 0 }),
    )
    const plain = reproduce({ kind: 'relation', request: { model: 'm' } }, { path: '/m' })
    expect(plain.command).toBe('headscope relation m')
    expect(plain.script).toContain('relationTriples(model, RELATION_EXAMPLE)')
  })

  test('a series is a scan of its members; texts that are too long stand in a file that is named', () => {
    const members = [
      { at: 'step0', path: '/a b/step0' },
      { at: 'step9', path: '/a b/step9' },
    ]
    const series = reproduce({ kind: 'series', request: { model: 'm', seed: 4 } }, { path: '/m', members })
    expect(wordsIn(series.command!)).toEqual(['headscope', 'scan', '/a b/step0', '/a b/step9', '--seed', '4'])
    const long = { model: 'm', prompts: [{ text: 'word '.repeat(10_000) }] }
    const { command } = reproduce({ kind: 'spans', request: long }, { path: '/m' })
    expect(command).toMatch(/^# texts\.jsonl: .*\nheadscope spans m --prompts texts\.jsonl$/)
  })

  test('every name that a script imports is one that is exported', async () => {
    const exported = await import('../index.ts')
    const more: ReproduceRequest[] = [
      ...REQUESTS,
      { kind: 'relation', request: { model: 'm' } },
      { kind: 'series', request: { model: 'm' } },
      { kind: 'bench', request: { model: 'm', prompt: { ids: [1] }, layer: 0, head: 0 } },
      { kind: 'geometry', request: { model: 'm', prompt: { ids: [1] } } },
      { kind: 'contexts', request: { model: 'm', places: [{ prompt: { text: 'a' }, pos: 0 }] } },
      { kind: 'compound', request: { model: 'm', prompt: { ids: [1, 2] }, positions: [0, 1] } },
    ]
    for (const asked of more) {
      const names = /^import \{ (.*) \} from/
        .exec(reproduce(asked, { path: '/m', b: '/n' }).script)![1]!
        .split(', ')
      for (const name of names) expect(exported, name).toHaveProperty(name)
    }
  })
})
