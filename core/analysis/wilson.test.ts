import { expect, test } from 'vitest'
import { wilson } from './wilson.ts'

test('score intervals', () => {
  expect(wilson(30, 30).low).toBeCloseTo(0.886486605238548, 8)
  expect(wilson(30, 30).high).toBe(1)
  expect(wilson(3, 20).low).toBeCloseTo(0.05236874548672649, 8)
  expect(wilson(3, 20).high).toBeCloseTo(0.36041886664286427, 8)
  expect(wilson(0, 10).low).toBe(0)
})
