import { expect, test } from 'vitest'
import { preciseWeight } from './format.ts'

test('two decimals, then two significant digits; 0 is only 0', () => {
  const given = [1, 0.4249, 0.1, 0.0312, 0.00721, 0.00072, 6e-8, 0]
  expect(given.map(preciseWeight)).toEqual([
    '1.00',
    '0.42',
    '0.10',
    '0.031',
    '0.0072',
    '7.2e-4',
    '6.0e-8',
    '0',
  ])
})
