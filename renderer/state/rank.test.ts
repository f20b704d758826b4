import { expect, test } from 'vitest'
import type { HeadScores, Score } from '../../core/analysis/types.ts'
import { formatScore, formatWeight, parseFilter, rankHeads } from './rank.ts'

const score = (value: number | null): Score => ({ value, n: 32, rows: 96, low: null, high: null })
const head = (layer: number, h: number, induction: number | null, previous = 0): HeadScores => ({
  layer,
  head: h,
  scores: { induction: score(induction), previous_token: score(previous) },
})
const heads = [head(0, 0, 0.1, 0.9), head(0, 1, null), head(1, 0, 0.9), head(1, 1, 0.1)]
const names = ['induction', 'previous_token']
const kept = (text: string) =>
  heads.filter(parseFilter(text, names).matches).map((h) => `${h.layer}.${h.head}`)

test('heads without a value come last, ties keep their order', () => {
  expect(rankHeads(heads, 'induction').map((h) => `${h.layer}.${h.head}`)).toEqual([
    '1.0',
    '0.0',
    '1.1',
    '0.1',
  ])
})

test('filters: heads, layers, bounds, and several at once', () => {
  expect(kept('')).toHaveLength(4)
  expect(kept('L1H0')).toEqual(['1.0'])
  expect(kept('1.1')).toEqual(['1.1'])
  expect(kept('layer 1')).toEqual(['1.0', '1.1'])
  expect(kept('L0')).toEqual(['0.0', '0.1'])
  expect(kept('induction > .5')).toEqual(['1.0'])
  expect(kept('ind <= .1 and previous > 0.5')).toEqual(['0.0'])
  expect(parseFilter('1.1', names).head).toEqual({ layer: 1, head: 1 })
})

test('what cannot be read is said, and hides nothing', () => {
  const filter = parseFilter('copying > 1', names)
  expect(filter.problem).toMatch(/copying/)
  expect(heads.every(filter.matches)).toBe(true)
  expect(parseFilter('what?', names).problem).toMatch(/L1H3/)
})

test('numbers: undefined is no text, tiny is not zero', () => {
  expect(formatScore(score(null))).toBe('')
  expect(formatWeight(0)).toBe('0.00')
  expect(formatWeight(0.001)).toBe('<0.01')
  expect(formatWeight(0.93)).toBe('0.93')
})

test('classes are filtered by name, in full or shortened, and none is one', () => {
  const made = (induction: number, previous_token: number) => ({
    layer: 0,
    head: 0,
    scores: {
      induction: { value: induction, n: 1, rows: 1, low: null, high: null },
      previous_token: { value: previous_token, n: 1, rows: 1, low: null, high: null },
    },
  })
  const names = ['induction', 'previous_token']
  const fits = (text: string, head: ReturnType<typeof made>) => parseFilter(text, names).matches(head)
  expect(fits('class induction', made(0.9, 0.5))).toBe(true)
  expect(fits('class induction', made(0.5, 0.9))).toBe(false)
  expect(fits('class: previous token', made(0.5, 0.9))).toBe(true)
  expect(fits('class prev', made(0.1, 0.9))).toBe(true)
  expect(fits('class none', made(0.1, 0.39))).toBe(true)
  expect(fits('class induction and induction > .95', made(0.9, 0.5))).toBe(false)
  expect(fits('class previous token L0', made(0.1, 0.9))).toBe(true)
  expect(parseFilter('class verbs', names).problem).toMatch(
    /No class is called “verbs”: induction, previous token, none/,
  )
})

test('heads with a note', () => {
  const noted = (text: string) =>
    heads.filter(parseFilter(text, names, [], new Set(['L1H0'])).matches).map((h) => `${h.layer}.${h.head}`)
  expect(noted('noted')).toEqual(['1.0'])
  expect(noted('has a note')).toEqual(['1.0'])
  expect(noted('has note and L0')).toEqual([])
  expect(noted('class none, noted')).toEqual([])
})
