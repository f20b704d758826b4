import { expect, test } from 'vitest'
import { formatToken, metricOf, metricText, parseToken } from './metric.ts'

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
