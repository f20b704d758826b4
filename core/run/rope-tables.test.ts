/** Frequencies of every scaling against the reference's (test/fixtures/reference/defaults.py), and published numbers. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readFamily } from '../families/index.ts'
import type { RopeSpec } from '../graph/model-spec.ts'
import { dependsOnLength, inverseFrequencies, ropeTable, sameTable } from './rope-tables.ts'

interface Case {
  readonly length: number
  readonly rope: Readonly<Record<string, unknown>>
  readonly max: number
  readonly frequencies: readonly number[]
  readonly attention: number
}

const FILE = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'reference', 'defaults.json')
const CASES: readonly Case[] = JSON.parse(readFileSync(FILE, 'utf8')).ropes

function ropeOf(rope: Readonly<Record<string, unknown>>, max: number): RopeSpec {
  const sizes = { hidden_size: 64, num_attention_heads: 4, max_position_embeddings: max }
  return readFamily({ model_type: 'llama', ...sizes, rope_parameters: rope }).spec.ropes[0]!
}

describe.each(CASES.map((entry) => [`${entry.rope.rope_type} at ${entry.length}`, entry] as const))(
  '%s',
  (_, entry) => {
    const rope = ropeOf(entry.rope, entry.max)

    test('frequencies', () => {
      const ours = inverseFrequencies(rope, entry.length)
      expect(ours.length).toBe(entry.frequencies.length)
      entry.frequencies.forEach((frequency, i) => {
        expect(Math.abs(ours[i]! / frequency - 1)).toBeLessThan(1e-6)
      })
    })

    test('cos and sin are multiplied by the attention factor', () => {
      expect(ropeTable(rope, 0, 1, entry.length).cos[0]).toBeCloseTo(entry.attention, 6)
    })
  },
)

test('llama3 frequencies as published', () => {
  const rope = ropeOf(
    {
      rope_type: 'llama3',
      rope_theta: 5e5,
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    },
    131072,
  )
  const published = [
    1, 0.1939227447, 0.0376060309, 0.0072926647, 0.0005248462, 3.4281e-5, 6.6479e-6, 1.2892e-6,
  ]
  const ours = inverseFrequencies(rope, 64)
  published.forEach((frequency, i) => {
    expect(Math.abs(ours[i]! / frequency - 1)).toBeLessThan(5e-5)
  })
})

test('which lengths share a table', () => {
  const ofType = (type: string) => ropeOf(CASES.find((entry) => entry.rope.rope_type === type)!.rope, 64)
  expect(
    ['linear', 'yarn', 'llama3', 'dynamic', 'longrope'].map((type) => dependsOnLength(ofType(type))),
  ).toEqual([false, false, false, true, true])
  expect(sameTable(ofType('linear'), 3, 300)).toBe(true)
  expect(sameTable(ofType('dynamic'), 3, 64)).toBe(true)
  expect(sameTable(ofType('dynamic'), 64, 65)).toBe(false)
  expect(sameTable(ofType('longrope'), 3, 16)).toBe(true)
  expect(sameTable(ofType('longrope'), 16, 17)).toBe(false)
  expect(sameTable(ofType('longrope'), 17, 300)).toBe(true)
})
