import { expect, test } from 'vitest'
import { size, when } from './sizes.ts'

test('sizes have a unit that fits', () => {
  expect([0, 1023, 1024, 15_000, 5 * 2 ** 20, 3 * 2 ** 40].map(size)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KB',
    '15 KB',
    '5.0 MB',
    '3.0 TB',
  ])
})

test('a time that is none is shown as it is', () => {
  expect(when('soon')).toBe('soon')
  expect(when('2026-11-29T18:04:00Z')).toMatch(/Nov/)
})
