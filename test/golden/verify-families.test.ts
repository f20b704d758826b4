/** Every identity holds on every reference checkpoint and variant, or says why it does not apply. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeSafetensors } from '../../core/checkpoint/safetensors-write.ts'
import { type Metric, openModel, verify } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden } from '../support/golden.ts'

const FOLDERS = ['transformers', 'variants'].flatMap((kind) =>
  readdirSync(join(FIXTURES, kind), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(kind, entry.name)),
)

/** Checks that may say "not applicable", by what the reason speaks of. */
const REASONS = [
  /(learned|sinusoidal) positions are absolute/,
  /no rotary embedding/,
  /a norm of queries stands before/,
  /changes with the length of the run/,
  /rounds positions in ALiBi/,
  /sees what follows each position/,
  /no sum over the residual stream/,
  /the scores of this family are capped/,
  /cross-attention/,
]

test.each(FOLDERS)('%s', async (folder) => {
  const model = await openModel(join(FIXTURES, folder))
  const golden = folder.startsWith('transformers')
    ? { golden: join(FIXTURES, folder, 'golden.safetensors'), ...metricOf(folder) }
    : {}
  const { checks, ok } = await verify(model, golden)
  await model.close()
  expect(checks.filter((check) => check.ok === false)).toEqual([])
  expect(ok).toBe(true)
  // Long prompts come without gradients.
  const graded = checks.filter(({ name }) => name.startsWith('grad.'))
  expect(graded.every((check) => check.ok === true && check.tolerance === 2e-4)).toBe(true)
  if (folder === 'transformers/llama-gqa') expect(graded).toHaveLength(6)
  expect(checks.length).toBeGreaterThanOrEqual(10)
  for (const check of checks.filter((entry) => entry.ok === null))
    expect(
      REASONS.some((reason) => reason.test(check.why!)),
      check.why,
    ).toBe(true)
  // A causal model with fixed tables lacks two checks at most: rotation lengths and shifted positions.
  const fixed =
    model.spec.stacks[0]!.causal &&
    model.spec.ropes.every((rope) => !/dynamic|longrope/.test(rope.scaling.type))
  if (fixed) expect(checks.filter((check) => check.ok).length).toBeGreaterThanOrEqual(checks.length - 2)
})

test('a twin with another rotary base is self-consistent and does not match the reference', async () => {
  const original = join(FIXTURES, 'transformers', 'llama-gqa')
  const twin = mkdtempSync(join(tmpdir(), 'headscope-twin-'))
  cpSync(original, twin, { recursive: true })
  const config = JSON.parse(readFileSync(join(twin, 'config.json'), 'utf8'))
  config.rope_parameters.rope_theta *= 3
  writeFileSync(join(twin, 'config.json'), JSON.stringify(config))
  const model = await openModel(twin)
  expect((await verify(model)).ok).toBe(true)
  const { checks, ok } = await verify(model, { golden: join(original, 'golden.safetensors') })
  await model.close()
  rmSync(twin, { recursive: true })
  expect(ok).toBe(false)
  expect(checks.find((check) => check.name === 'logits')!.ok).toBe(false)
})

/** What the gradients of a reference are of. */
function metricOf(folder: string): { metric?: Metric } {
  const { metric } = JSON.parse(readFileSync(join(FIXTURES, folder, 'golden.json'), 'utf8'))
  return metric ? { metric: { kind: 'logit_diff', answer: metric.a, wrong: metric.b } } : {}
}

test('gradients without a metric are named as not compared', async () => {
  const folder = join(FIXTURES, 'transformers', 'llama-gqa')
  const model = await openModel(folder)
  const { checks, ok } = await verify(model, { golden: join(folder, 'golden.safetensors') })
  await model.close()
  expect(ok).toBe(true)
  expect(checks.filter(({ name }) => name.startsWith('grad.'))).toEqual(
    Array.from({ length: 6 }, () =>
      expect.objectContaining({ ok: null, why: expect.stringMatching(/^not compared/) }),
    ),
  )
})

test('padded prompts are compared by their own tokens, and a mask that is no padding is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headscope-padded-'))
  const model = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
  const golden = readGolden('transformers', 'llama-gqa', 'golden.safetensors')
  const first = idRows(golden.get('input_ids')!).map((ids) => ids.slice(0, 12))
  const shape = [2, 12]
  const logits = golden.get('logits')!
  // The second prompt ends early: what the reference says of its padding is anything at all.
  const values = (logits.data as Float32Array).slice()
  const rest = values.length / 2 + (values.length / 2 / 12) * 7
  values.fill(1e9, rest)
  const write = (mask: readonly number[]) => {
    const file = join(folder, 'padded.safetensors')
    writeSafetensors(file, [
      { name: 'input_ids', shape, data: BigInt64Array.from(first.flat(), BigInt) },
      {
        name: 'attention_mask',
        shape,
        data: BigInt64Array.from([...Array.from({ length: 12 }, () => 1), ...mask], BigInt),
      },
      { name: 'logits', shape: logits.shape, data: values },
    ])
    return file
  }
  const { checks } = await verify(model, { golden: write([1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]) })
  expect(checks.find(({ name }) => name === 'logits')).toMatchObject({ ok: true })
  await expect(verify(model, { golden: write([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) })).rejects.toThrow(
    /attention_mask of prompt 1 is not ones and then zeros/,
  )
  await model.close()
  rmSync(folder, { recursive: true })
})
