import { expect, test } from 'vitest'
import type { ScanReply } from '../../../core/api/contract.ts'
import { changesOf, curvesOf, onsetOf, type Step, stepNumber } from './curves.ts'

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
})

test('the onset is between two scanned steps', () => {
  const curves = curvesOf(steps, 'induction')
  expect(onsetOf(steps, curves, 0.5)).toEqual({ at: 3, after: 2 })
  expect(onsetOf(steps, curves, 0.9)).toBeNull()
})

test('changes, the largest first', () => {
  const changes = changesOf(steps[0]!.scan!.heads, steps[3]!.scan!.heads, 'induction')
  expect(changes.map((c) => [c.head, c.delta.toFixed(1), c.clear])).toEqual([
    [0, '0.7', true],
    [1, '0.2', true],
  ])
  expect(stepNumber('step512', 3)).toBe(512)
  expect(stepNumber('final', 3)).toBe(3)
})
