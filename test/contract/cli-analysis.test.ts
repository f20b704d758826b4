/** lens, dla, weights, embed, export and import as scripts use them. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readSafetensorsFile, writeSafetensors } from '../../core/checkpoint/index.ts'
import { type CommandLine, commandLine, ROOT } from '../support/command-line.ts'
import { relativeError } from '../support/golden.ts'

let folder: string
let headscope: CommandLine
const fixture = (...parts: string[]) => join(ROOT, 'test', 'fixtures', ...parts)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-analysis-'))
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

async function refused(words: RegExp, code: number, ...args: string[]): Promise<void> {
  const ended = await headscope(...args)
  expect(ended.stderr).toMatch(words)
  expect(ended.code).toBe(code)
  expect(ended.stdout).toBe('')
}

it('lens: every border, the last row is the run, and the tensors of --out', async () => {
  const out = join(folder, 'lens.safetensors')
  const prompts = ['--ids', '0,5,9,5', '--ids', '0,7']
  const found = await json('lens', 'induction-2l', ...prompts, '--answer-id', '9', '--out', out)
  expect(found.layers.map((row: { layer: number }) => row.layer)).toEqual([0, 1, 2])
  const run = await json('run', 'induction-2l', ...prompts, '--no-store')
  for (const cell of found.layers[2].positions) {
    const own = run.items[cell.item].positions[cell.pos]
    expect(cell.top.map((one: { id: number }) => one.id)).toEqual(
      own.top.map((one: { id: number }) => one.id),
    )
    expect(cell.rank).toBeGreaterThanOrEqual(0)
  }
  const logits = join(folder, 'logits.safetensors')
  await json('run', 'induction-2l', ...prompts, '--no-store', '--capture', 'logits', '--out', logits)
  const written = readSafetensorsFile(out)
  expect([...written.keys()]).toEqual(['input_ids', 'lens.0', 'lens.1', 'lens.2'])
  const last = written.get('lens.2')!
  const own = readSafetensorsFile(logits).get('logits')!
  expect(last.shape).toEqual(own.shape)
  expect(relativeError(last.data as Float32Array, own.data as Float32Array)).toBeLessThan(1e-5)
  await refused(/no border 7/, 1, 'lens', 'induction-2l', '--ids', '0,5', '--layer', '7')
  await refused(/no position 4/, 1, 'lens', 'induction-2l', '--ids', '0,5', '--pos', '4')
})

it('lens and dla of a hand-built model: its induction head says it all', async () => {
  const expected = JSON.parse(readFileSync(fixture('constructed', 'expect.json'), 'utf8'))
  const { sequence, pos, token, logit } = expected.direct_logit_attribution
  const found = await json(
    'dla',
    fixture('constructed', 'induction-exact'),
    '--ids',
    expected.sequences[sequence].ids.join(','),
    '--answer-id',
    String(token),
    '--pos',
    String(pos),
    '--sources',
  )
  expect(found.sum).toBeCloseTo(logit, 4)
  expect(found.logit).toBeCloseTo(logit, 4)
  expect(found.components.find((one: { name: string }) => one.name === 'L1H0').value).toBeCloseTo(logit, 4)
  expect(found.sources).toHaveLength(4)
  const none = await json('dla', fixture('transformers', 'bert-mlm'), '--ids', '1,5,9', '--answer-id', '4')
  expect(none).toMatchObject({
    components: [],
    sum: null,
    logit: null,
    why: expect.stringContaining('activation'),
  })
  await refused(/needs --answer/, 2, 'dla', 'induction-2l', '--ids', '0,5')
  await refused(
    /exclude each other/,
    2,
    'dla',
    'induction-2l',
    '--ids',
    '0',
    '--answer',
    'a',
    '--answer-id',
    '1',
  )
  await refused(/is not a token id/, 1, 'dla', 'induction-2l', '--ids', '0,5', '--answer-id', '99999')
})

it('weights: spectra, copying, composition and token pairs', async () => {
  const found = await json('weights', fixture('constructed', 'induction-exact'))
  expect(found.heads).toHaveLength(4)
  const cell = found.composition.k.find(
    (one: { from: { head: number }; to: { head: number } }) => one.from.head === 0 && one.to.head === 0,
  )
  expect(cell.value).toBeCloseTo(0.1581139, 6)
  expect(found.random_baseline).toBeCloseTo(0.04902903, 7)
  expect(found.heads[2].copying.value).toBeCloseTo(1, 4)
  expect(found.heads[1].copying).toMatchObject({ value: null, why: expect.stringContaining('zero') })
  const pairs = await json('weights', 'induction-2l', '--pairs', 'ov', '--head', 'L1H3', '--top', '3')
  expect(pairs.pairs).toHaveLength(3)
  expect(pairs.pairs[0].value).toBeGreaterThanOrEqual(pairs.pairs[2].value)
  await refused(/go together/, 2, 'weights', 'induction-2l', '--pairs', 'ov')
  await refused(/no head 9/, 1, 'weights', 'induction-2l', '--pairs', 'ov', '--head', 'L1H9')
})

it('embed: neighbours of a combination, and terms that are not one token', async () => {
  const found = await json('embed', 'prose-4l', '#40 + #77 - #77', '--count', '2')
  expect(found.neighbours).toHaveLength(2)
  expect(found.neighbours[0]).toMatchObject({ id: 40, named: true })
  expect(found.expression.map((term: { sign: number }) => term.sign)).toEqual([1, 1, -1])
  await refused(/a direction needs one/, 1, 'embed', 'prose-4l', 'Constantinople')
  await refused(/neither \+ nor -/, 1, 'embed', 'prose-4l', 'a b')
})

it('a run goes out as safetensors and .npz and comes back as it was', async () => {
  const prompts = ['--ids', '0,5,9,5,9', '--ids', '0,7,3']
  const store = join(folder, 'work.db')
  const first = await json(
    'run',
    'induction-2l',
    ...prompts,
    '--store',
    store,
    '--capture',
    '*hook_z',
    '--capture',
    'logits',
  )
  const file = join(folder, 'run.safetensors')
  await json('export', String(first.run), '--store', store, '--out', file)
  const tensors = readSafetensorsFile(file)
  expect(tensors.get('blocks.1.attn.hook_z')!.shape).toEqual([2, 5, 8, 16])
  expect(Array.from(tensors.get('input_ids')!.data as BigInt64Array, Number)).toEqual([
    0, 5, 9, 5, 9, 0, 7, 3, 0, 0,
  ])
  expect(Array.from(tensors.get('attention_mask')!.data as BigInt64Array, Number)).toEqual([
    1, 1, 1, 1, 1, 1, 1, 1, 0, 0,
  ])

  const imported = await json('import', file, '--model', 'induction-2l', '--store', store)
  expect(imported.hooks).toContain('blocks.0.attn.hook_pattern')
  expect(imported.warnings.join(' ')).toContain('computed elsewhere')
  const again = join(folder, 'again.safetensors')
  await json('export', String(imported.run), '--store', store, '--out', again)
  const copy = readSafetensorsFile(again)
  for (const [name, tensor] of tensors)
    if (tensor.data instanceof Float32Array)
      expect(relativeError(copy.get(name)!.data as Float32Array, tensor.data), name).toBeLessThan(1e-6)

  // Predictions come from the logits of the file.
  const detail = join(folder, 'detail.json')
  await json('export', String(imported.run), '--store', store, '--out', detail)
  const { items } = JSON.parse(readFileSync(detail, 'utf8'))
  expect(items[0].loss).toBeCloseTo(first.items[0].loss, 4)
  expect(items[1].positions[2].top[0].id).toBe(first.items[1].positions[2].top[0].id)

  const npz = join(folder, 'run.npz')
  await json('export', `run:${first.run}`, '--store', store, '--out', npz)
  const listed = execFileSync('unzip', ['-t', npz], { encoding: 'utf8' })
  expect(listed).toContain('No errors detected')
  const bytes = readFileSync(npz)
  expect(bytes.includes(Buffer.from("'shape': (2, 5, 8, 16)"))).toBe(true)

  const csv = join(folder, 'run.csv')
  await json('export', String(first.run), '--store', store, '--out', csv)
  const rows = readFileSync(csv, 'utf8').split('\r\n')
  expect(rows[0]).toMatch(/^item,pos,id,token,loss_of_next,next_1_id/)
  expect(rows).toHaveLength(1 + 5 + 3 + 1)
})

it('a scan goes out as its score table', async () => {
  const store = join(folder, 'scan.db')
  await json('scan', 'induction-2l', '--batch', '5', '--length', '12', '--store', store)
  const csv = join(folder, 'scores.csv')
  const done = await json('export', 'experiment:1', '--store', store, '--out', csv)
  expect(done.rows).toBe(16 * 4)
  expect(readFileSync(csv, 'utf8')).toMatch(
    /^layer,head,score,value,n,rows,low,high,why\r\n0,0,\w+,0\.\d+,5,/,
  )
  await refused(
    /must end in \.csv, \.json/,
    1,
    'export',
    'experiment:1',
    '--store',
    store,
    '--out',
    join(folder, 'x.npz'),
  )
})

it('what cannot go out or come in is refused in one sentence, and leaves nothing', async () => {
  const store = join(folder, 'work.db')
  await refused(/Run 999 is not/, 1, 'export', '999', '--store', store, '--out', join(folder, 'no.json'))
  await refused(/names nothing/, 1, 'export', 'all', '--store', store, '--out', join(folder, 'no.json'))
  await refused(/says no format/, 1, 'export', '1', '--store', store, '--out', join(folder, 'no.txt'))
  await refused(/needs --out/, 2, 'export', '1', '--store', store)
  expect(existsSync(join(folder, 'no.json'))).toBe(false)
  const file = join(folder, 'bad.safetensors')
  const into = ['--model', 'induction-2l', '--store', store]
  writeSafetensors(file, [{ name: 'x', shape: [1], data: new Float32Array(1) }])
  await refused(/holds no input_ids/, 1, 'import', file, ...into)
  const input_ids = { name: 'input_ids', shape: [1, 3], data: BigInt64Array.of(0n, 5n, 9n) }
  writeSafetensors(file, [input_ids, { name: 'x', shape: [1], data: new Float32Array(1) }])
  await refused(/no tensor under a hook name/, 1, 'import', file, ...into)
  const name = 'blocks.0.hook_resid_pre'
  writeSafetensors(file, [input_ids, { name, shape: [1, 3, 64], data: new Float32Array(192) }])
  await refused(/\[1, 3, 64\].*\[1, 3, 128\]/, 1, 'import', file, ...into)
  writeSafetensors(file, [
    input_ids,
    { name: 'attention_mask', shape: [1, 3], data: BigInt64Array.of(0n, 1n, 1n) },
    { name, shape: [1, 3, 128], data: new Float32Array(384) },
  ])
  await refused(/pad at the right/, 1, 'import', file, ...into)
})
