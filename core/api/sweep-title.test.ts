import { expect, test } from 'vitest'
import { sweepTitle } from './sweep-title.ts'

const metric = { kind: 'logit_diff', answer: 1, wrong: 2 } as const
const clean = { text: 'When Mary and John went to the store, John gave' }
const corrupt = { text: 'When Mary and John went to the store, Mary gave' }

test('a sweep is called by what it does, to what, and on which prompt', () => {
  const prompt = { ids: [1, 2, 3] }
  expect(
    sweepTitle('ablate', { model: 'm', prompt, over: 'cross_heads', kind: 'mean', metric: { kind: 'loss' } }),
  ).toBe('mean cross heads, loss: 3 ids')
  expect(sweepTitle('patch', { model: 'm', clean, corrupt, site: 'z', direction: 'noise', metric })).toBe(
    'patch z, noising, logit diff: “When Mary and John went to the s…”',
  )
  expect(
    sweepTitle('path', { model: 'm', clean: { text: ' a\n b' }, corrupt, from: [], to: [], metric }),
  ).toBe('paths, logit diff: “a b”')
  expect(sweepTitle('attribute', { model: 'm', clean: { text: 'a' }, corrupt, metric })).toBe(
    'patch estimates, logit diff: “a”',
  )
})
