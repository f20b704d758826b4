import { expect, test } from 'vitest'
import type { ScanReply } from '../../../core/api/contract.ts'
import { onsetOf } from '../../../core/compare/onset.ts'
import { changesOf, curvesOf, onsetText, type Step, scoredOf, stepNumber, unlikeOf } from './curves.ts'

const scan = (...values: (number | null)[]) =>
  ({
    heads: values.map((value, head) => ({
      layer: 0,
      head,
      scores: { induction: { value, n: 8, rows: 8, low: value, high: value } },
    })),
  }) as unknown as ScanReply
const step = (n: number, found: ScanReply | null): Step => ({
  at: `step${n}`,
  path: `/s${n}`,
  step: n,
  scan: found,
})
const steps = [step(0, scan(0, 0.1)), step(8, null), step(16, scan(0.2, null)), step(32, scan(0.7, 0.3))]

test('a step that is not scanned and a score that is undefined are gaps, not 0', () => {
  expect(curvesOf(steps, 'induction').map((c) => c.values)).toEqual([
    [0, null, 0.2, 0.7],
    [0.1, null, null, 0.3],
  ])
  // A score that is undefined is still a score: it says why. A step without a scan has none.
  expect(curvesOf(steps, 'induction')[1]!.scores.map((score) => score && [score.value, score.n])).toEqual([
    [0.1, 8],
    null,
    [null, 8],
    [0.3, 8],
  ])
})

test('the onset is between two scored steps, with what the interval allows', () => {
  const onset = onsetOf(scoredOf(steps), 'induction', 0.5)
  expect(onset).toMatchObject({ at: 'step32', after: 'step16', head: { layer: 0, head: 0 } })
  expect(onsetText(onset)).toMatch(
    /^the best head passes 0.5 between step16 and step32 \(L0H0 0\.7.*by its interval too$/,
  )
  const bare = { ...onset, value: { ...onset.value!, low: null, high: null } }
  expect(onsetText(bare)).toMatch(/\(L0H0 0\.7\S*\)$/)
  const wide = { ...onset, earliest: 'step16', latest: null }
  expect(onsetText(wide)).toMatch(/allows step16 to none of these steps$/)
  expect(onsetText(onsetOf(scoredOf(steps), 'induction', 0.9))).toBe('no step has a head at 0.9 or above')
})

test('a step that was scored on other sequences is told from the others', () => {
  const on = (batch: number): ScanReply =>
    ({ ...scan(0.1), settings: { length: 48, batch, seed: 1, bos: true, scores: [] } }) as ScanReply
  expect(
    unlikeOf([step(0, on(32)), step(8, on(5)), step(9, null), step(16, on(32))]).map((s) => s.at),
  ).toEqual(['step8'])
})

test('changes, the largest first', () => {
  const changes = changesOf(steps[0]!.scan!.heads, steps[3]!.scan!.heads, 'induction')
  expect(changes.map((c) => [c.head, c.delta.toFixed(1), c.clear])).toEqual([
    [0, '0.7', true],
    [1, '0.2', true],
  ])
  const bare = [
    {
      ...steps[3]!.scan!.heads[0]!,
      scores: { induction: { value: 0.9, n: 0, rows: 0, low: null, high: null } },
    },
  ]
  expect(changesOf(steps[0]!.scan!.heads, bare, 'induction')[0]!.clear).toBeNull()
  expect(stepNumber('step512', 3)).toBe(512)
  expect(stepNumber('final', 3)).toBe(3)
})
