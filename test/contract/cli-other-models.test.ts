/** The command line on models of two stacks, on ONNX files, and with devices that are not there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSafetensorsFile } from '../../core/checkpoint/index.ts'
import { openStore } from '../../core/index.ts'
import { type CommandLine, commandLine, ROOT } from '../support/command-line.ts'
import { relativeError } from '../support/golden.ts'

let folder: string
let headscope: CommandLine
const fixture = (...parts: string[]) => join(ROOT, 'test', 'fixtures', ...parts)
const T5 = fixture('transformers', 't5-relative-bias')

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-cli-'))
  headscope = commandLine(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

// biome-ignore lint/suspicious/noExplicitAny: documents are looked at field by field
async function json(...args: string[]): Promise<any> {
  const ended = await headscope(...args, '--json')
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
  return JSON.parse(ended.stdout)
}

async function refused(exit: number, words: RegExp, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await headscope(...args)
  expect(stderr).toMatch(words)
  expect(code).toBe(exit)
  expect(stdout).toBe('')
}

describe('token types', () => {
  const BERT = fixture('transformers', 'bert-mlm')

  it('of two texts in one prompt are those of the reference, and the stored run names them', async () => {
    const golden = readSafetensorsFile(join(BERT, 'golden.safetensors'))
    const rows = (name: string) => {
      const { data, shape } = golden.get(name)!
      const length = shape[1]!
      const flat = Array.from(data as BigInt64Array, Number)
      return [flat.slice(0, length), flat.slice(length)]
    }
    const types = rows('token_type_ids')
    expect(types.flat()).toContain(1)
    const [out, store] = [join(folder, 'types.safetensors'), join(folder, 'types.db')]
    const found = await json(
      ...['run', BERT, '--capture', 'logits', '--out', out, '--store', store],
      ...rows('input_ids').flatMap((ids) => ['--ids', ids.join(',')]),
      ...types.flatMap((list) => ['--token-types', list.join(',')]),
    )
    const logits = readSafetensorsFile(out).get('logits')!
    const reference = golden.get('logits')!
    expect(relativeError(logits.data as Float32Array, reference.data as Float32Array)).toBeLessThan(1e-4)
    expect(found.items[0]).toMatchObject({
      loss: null,
      why: expect.stringContaining('predicts no next token'),
    })
    const kept = openStore(store, { readonly: true })
    const { provenance } = kept.run(found.run)
    expect(provenance.tokenTypes).toEqual(types)
    kept.close()
    expect(await json('verify', BERT, '--golden', out)).toMatchObject({ ok: true })
  })

  it('of a run are no run without them', async () => {
    const store = join(folder, 'clean-types.db')
    const types = ['--token-types', '0,0,0,1,1']
    const found = await json('run', BERT, '--ids', '5,6,7,8,9', ...types, '--store', store)
    const other = await json('run', BERT, '--ids', '5,6,7,8,9', '--store', store)
    const kept = openStore(store, { readonly: true })
    expect(kept.cleanRuns(found.model.hash).map(({ run }) => run)).toEqual([other.run])
    kept.close()
  })

  it('that do not fit are refused', async () => {
    const ids = ['--ids', '5,6,7', '--no-store']
    await refused(1, /has 3 tokens, but 2 token types/, 'run', BERT, ...ids, '--token-types', '0,1')
    await refused(1, /not a whole number from 0 to 1/, 'lens', BERT, '--ids', '5', '--token-types', '2')
    await refused(1, /know no token types/, 'run', 'induction-2l', ...ids, '--token-types', '0,0,1')
  })
})

describe('an encoder and a decoder', () => {
  it('runs texts of both, and writes what verify reads', async () => {
    const golden = readSafetensorsFile(join(T5, 'golden.safetensors'))
    const out = join(folder, 'captures.safetensors')
    const found = await json(
      ...['run', T5, '--text', 'green dark told from blue through moon or dark rain no'],
      ...['--decoder-text', 'by then after would through no fell man rose'],
      ...['--capture', '*hook_pattern', '--capture', 'logits', '--out', out],
    )
    const [item] = found.items
    expect(item.source.tokens).toEqual([
      ...'green dark told from blue through moon or dark rain no'.split(' '),
      '</s>',
    ])
    expect(item.tokens.slice(0, 3)).toEqual(['<pad>', 'by', 'then'])
    expect(found.run).toBe(1)
    const written = readSafetensorsFile(out)
    const first = (golden.get('decoder_input_ids')!.data as BigInt64Array).slice(0, 10)
    expect(written.get('decoder_input_ids')!.data).toEqual(first)
    for (const hook of [
      'decoder.blocks.1.cross_attn.hook_pattern',
      'encoder.blocks.0.attn.hook_pattern',
      'logits',
    ]) {
      const ours = written.get(hook)!.data as Float32Array
      const theirs = golden.get(hook)!.data as Float32Array
      expect(relativeError(ours, theirs.subarray(0, ours.length)), hook).toBeLessThan(1e-4)
    }
    expect((await json('verify', T5, '--golden', out)).ok).toBe(true)
  })

  it('continues, and ablates the heads of cross-attention', async () => {
    const made = await json('generate', T5, '--text', 'green dark', '--decoder-ids', '0,43', '--max', '3')
    expect(made.items[0]).toMatchObject({
      prompt_ids: [0, 43],
      source_ids: [64, 45, 1],
      cached_equals_uncached: true,
    })
    const { cells } = await json(
      ...['ablate', T5, '--text', 'green dark', '--decoder-text', 'by then', '--over', 'cross_heads'],
      ...['--answer', 'would', '--wrong', 'no', '--no-store'],
    )
    expect(cells).toHaveLength(8)
  })

  it('patches, follows paths and attributes over the decoder, whose texts differ', async () => {
    const pair = [
      ...['--clean', 'green dark', '--clean-decoder', 'by then after', '--corrupt-decoder', 'by no after'],
      ...['--answer', 'would', '--wrong', 'no', '--no-store'],
    ]
    const patched = await json('patch', T5, ...pair, '--site', 'cross_z')
    expect(patched.differing).toEqual([2])
    expect(patched.cells).toHaveLength(8)
    const whole = await json('patch', T5, ...pair, '--site', 'resid_pre')
    const at = (layer: number, pos: number) =>
      whole.cells.find((cell: { layer: number; pos: number }) => cell.layer === layer && cell.pos === pos)
    expect(at(0, 2).normalized).toBeCloseTo(1, 3)
    expect(at(0, 1).normalized).toBe(0)
    const { cells, clean } = await json(
      'path',
      T5,
      ...pair,
      '--edges',
      'embed:L0H1.v,L0H1:L1H0.k,L0H1.cross:logits,L1.mlp:logits',
    )
    expect(cells).toHaveLength(4)
    for (const { value, delta } of cells) expect(value - clean).toBeCloseTo(delta, 5)
    // What the last MLP says to the logits alone is what it says at all.
    const noised = await json('patch', T5, ...pair, '--site', 'mlp_out', '--direction', 'noise')
    const last = noised.cells.filter((cell: { layer: number }) => cell.layer === 1)
    expect(last[3].value).toBeCloseTo(cells[3].value, 3)
    const all = await json('path', T5, ...pair, '--from', 'all', '--to', 'L1H0.q')
    expect(all.cells.map(({ from }: { from: string }) => from)).toContain('L0H3.cross')
    const estimated = await json('attribute', T5, ...pair, '--verify', '4')
    expect(estimated.cells.filter((cell: { exact?: number }) => cell.exact !== undefined)).toHaveLength(4)
    expect(estimated.clean).toBeCloseTo(patched.clean, 4)
  })

  it('edits take values from both texts of another prompt, and from a mean over typed prompts', async () => {
    const given = ['--text', 'green dark', '--decoder-text', 'by then', '--no-store']
    const hook = 'decoder.blocks.1.cross_attn.hook_z'
    const from = { ids: [64, 1], decoder_ids: [0, 43, 77] }
    const edit = (source: object) => ['--edit', JSON.stringify({ hook, op: 'set', from: source })]
    const plain = await json('run', T5, ...given)
    const other = await json('run', T5, ...given, ...edit(from))
    const mean = await json('run', T5, ...given, ...edit({ mean: [from, from], over: 'pos' }))
    expect(other.items[0].loss).not.toBeCloseTo(plain.items[0].loss, 4)
    expect(mean.items[0].loss).toBeCloseTo(other.items[0].loss, 5)
    const reference = ['--reference-ids', '0,43,77', '--over', 'cross_heads', '--kind', 'mean']
    const metric = ['--answer', 'would', '--wrong', 'no']
    const byIds = await json('ablate', T5, ...given, ...reference, ...metric)
    const byText = ['--reference-text', 'by then', '--over', 'cross_heads', '--kind', 'mean']
    const worded = await json('ablate', T5, ...given, ...byText, ...metric)
    // A text is the decoder's own: its start token, then the words.
    expect(worded.settings.reference).toEqual({ prompts: 1, positions: 3 })
    expect(worded.cells).toEqual(byIds.cells)
  })

  it('patches and follows paths between two texts of the encoder', async () => {
    const pair = [
      ...['--clean', 'green dark', '--corrupt', 'green rain', '--clean-decoder', 'by then after'],
      ...['--answer', 'would', '--wrong', 'no', '--no-store'],
    ]
    const patched = await json('patch', T5, ...pair, '--site', 'cross_attn_out')
    expect(patched.differing).toEqual([])
    expect(patched.clean).not.toBeCloseTo(patched.corrupt, 3)
    const { cells, clean } = await json('path', T5, ...pair, '--edges', 'source:L1H0.cross.v,source:logits')
    expect(clean).toBeCloseTo(patched.clean, 4)
    expect(cells[0].delta).not.toBe(0)
    expect(cells[1]).toMatchObject({ value: null, why: expect.stringContaining('no path to logits') })
  })

  it('refuses what does not fit in a sentence', async () => {
    const given = ['--answer-id', '4', '--wrong-id', '5', '--no-store']
    await refused(
      1,
      /a weight for every token of the source/,
      ...[
        'patch',
        T5,
        '--clean-ids',
        '64,45,1',
        '--corrupt-ids',
        '64,1',
        '--site',
        'cross_pattern',
        ...given,
      ],
    )
    await refused(
      1,
      /one text/,
      ...['patch', fixture('transformers', 'llama-gqa'), '--clean-ids', '1,2', '--clean-decoder-ids', '1'],
      ...['--corrupt-ids', '1,3', ...given],
    )
    await refused(
      2,
      /--edges holds "L0H1"/,
      ...['path', T5, '--clean-ids', '1,2', '--corrupt-ids', '1,3', '--edges', 'L0H1', ...given],
    )
    const llama = fixture('transformers', 'llama-gqa')
    await refused(1, /one text/, 'run', llama, '--ids', '1,2', '--decoder-ids', '1', '--no-store')
    await refused(
      2,
      /one for each prompt/,
      'run',
      T5,
      '--ids',
      '1',
      '--ids',
      '2',
      '--decoder-ids',
      '0',
      '--no-store',
    )
    await refused(1, /capture its patterns in a run/, 'scan', T5, '--no-store')
  })
})

describe('ONNX files', () => {
  it('are inspected, run and scanned', async () => {
    const file = fixture('onnx', 'llama-past.onnx')
    const seen = await json('inspect', file)
    expect(seen).toMatchObject({ family: 'onnx', spec: { n_layers: 2, opset: 17, fused: [] } })
    expect(seen.hooks.map((hook: { name: string }) => hook.name)).toContain('blocks.1.attn.hook_pattern')
    const ended = await headscope('run', file, '--ids', '5,9,23', '--json')
    expect(JSON.parse(ended.stdout)).toMatchObject({
      items: [{ ids: [5, 9, 23] }],
      model: { family: 'onnx' },
    })
    const scan = await headscope('scan', file, '--length', '8', '--batch', '5', '--json')
    expect(JSON.parse(scan.stdout).heads).toHaveLength(12)
  })

  it('with fused attention say that no pattern can be seen', async () => {
    const file = fixture('onnx', 'fused.onnx')
    expect((await json('inspect', file)).warnings).toEqual([
      expect.stringContaining('pattern not observable'),
    ])
    const words = /pattern not observable.*config\.json and safetensors/
    await refused(1, words, 'run', file, '--ids', '1,2', '--capture', '*pattern', '--no-store')
    await refused(1, words, 'scan', file, '--length', '4', '--no-store')
  })
})

it('a device that is not there is refused by name, with those that are', async () => {
  const words = /^The device "tpu" is not available .*available here: cpu/
  await refused(1, words, 'run', 'induction-2l', '--ids', '1,2', '--device', 'tpu', '--no-store')
  await refused(1, words, 'serve', '--device', 'tpu', '--no-store')
  expect(
    (await json('run', 'induction-2l', '--ids', '1,2', '--device', 'cpu', '--no-store')).items,
  ).toHaveLength(1)
})
