/** Every identity holds on every reference checkpoint and variant, or says why it does not apply. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openModel, verify } from '../../core/index.ts'
import { FIXTURES } from '../support/golden.ts'

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
    ? { golden: join(FIXTURES, folder, 'golden.safetensors') }
    : {}
  const { checks, ok } = await verify(model, golden)
  await model.close()
  expect(checks.filter((check) => check.ok === false)).toEqual([])
  expect(ok).toBe(true)
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
