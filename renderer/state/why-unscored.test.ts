import { expect, test } from 'vitest'
import { whyUnscored } from './why-unscored.ts'

test('only a model that reads one text from left to right is scored', () => {
  expect(whyUnscored({})).toBeNull()
  expect(whyUnscored({ causal: false })).toMatch(/bidirectional/)
  expect(whyUnscored({ encoder: { n_layers: 1, n_heads: 2, start: 0 } })).toMatch(/with its encoder/)
})
