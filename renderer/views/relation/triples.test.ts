import { expect, test } from 'vitest'
import { formatSlots, formatTexts, parseTemplate, parseTriples } from './triples.ts'

const TEXTS = 'A {distractor} {other} met the {target} {query}'
const SLOTS = 'target: blue, red\n{distractor}: green\nquery: creature\nother: forest,'

test('a template is its sentences and its lists of words, and back', () => {
  const template = parseTemplate(`${TEXTS}\n\n`, SLOTS)
  expect(template.template).toEqual([TEXTS])
  expect(template.slots).toEqual({
    target: ['blue', 'red'],
    distractor: ['green'],
    query: ['creature'],
    other: ['forest'],
  })
  expect(parseTemplate(formatTexts(template), formatSlots(template.slots))).toEqual(template)
})

test('what is missing in a template is named', () => {
  expect(() => parseTemplate('', SLOTS)).toThrow('at least one sentence')
  expect(() => parseTemplate(TEXTS, 'target: blue\ndistractor: green\nquery: x')).toThrow('{other}')
  expect(() => parseTemplate(TEXTS, 'target blue')).toThrow('“target blue” names no words')
})

test('triples come a line each', () => {
  expect(parseTriples('{"text":"a b c","query":2,"target":1,"distractor":0}\n')).toEqual([
    { prompt: { text: 'a b c' }, query: 2, target: 1, distractor: 0 },
  ])
  expect(() => parseTriples('{"text":"a","query":2,"target":1}')).toThrow(
    'Line 1 has no position “distractor”',
  )
  expect(() => parseTriples('\n[')).toThrow('Line 2 is not JSON')
  expect(() => parseTriples(' ')).toThrow('There is no triple')
})
