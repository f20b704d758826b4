import { expect, test } from 'vitest'
import { formatToken, metricOf, metricPosition, metricText, parseToken, sameMetric } from './metric.ts'

const answer = { id: 5, text: '·cat' }
const wrong = { id: 9, text: ' dog 2' }

test('a token survives the address, spaces and all', () => {
  expect(parseToken(formatToken(wrong))).toEqual(wrong)
  expect(parseToken('17')).toEqual({ id: 17, text: '#17' })
  expect(parseToken('cat')).toBeNull()
})

test('a metric exists when its tokens do', () => {
  expect(metricOf('logit_diff', answer, null, null)).toBeNull()
  expect(metricOf('logit_diff', answer, wrong, 3)).toEqual({
    kind: 'logit_diff',
    pos: 3,
    answer: 5,
    wrong: 9,
  })
  expect(metricOf('loss', null, null, null)).toEqual({ kind: 'loss' })
  expect(metricOf('prob', null, wrong, null)).toBeNull()
  expect(metricText({ kind: 'logit_diff', answer: 5, wrong: 9, pos: -1 }, (id) => `<${id}>`)).toBe(
    'logit difference of <5> against <9> at -1',
  )
})

test('a stored metric is the one that is set: by id, by the text of its token, at the same place', () => {
  const set = { kind: 'logit_diff', answer: 5, wrong: 9 } as const
  expect(sameMetric({ ...set, pos: -1 }, set, {}, 8)).toBe(true)
  expect(sameMetric({ ...set, pos: 7 }, set, {}, 8)).toBe(true)
  expect(sameMetric({ ...set, pos: 3 }, set, {}, 8)).toBe(false)
  expect(sameMetric({ ...set, answer: ' Mary' }, set, { answer: '5  Mary' }, 8)).toBe(true)
  expect(sameMetric({ ...set, answer: ' Mary' }, set, {}, 8)).toBe(false)
  expect(sameMetric({ kind: 'loss', pos: 7 }, { kind: 'loss' }, {}, 8)).toBe(false)
  expect(sameMetric(set, null, {}, 8)).toBe(false)
  expect(metricPosition({ kind: 'logit', answer: 1, pos: -2 }, 8)).toBe(6)
})
