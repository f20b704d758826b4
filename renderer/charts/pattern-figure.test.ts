import { expect, test } from 'vitest'
import type { Pattern } from '../api/pattern.ts'
import { csv } from './csv.ts'
import { arcsBody, patternTable, textBody } from './pattern-figure.ts'
import { weightReading } from './reading.ts'

const pattern: Pattern = { size: 2, layout: 'tri', data: Float32Array.from([1, 0.25, 0.75]) }
const token = (text: string) => ({ id: 0, text, special: false, group: null })
const tokens = [token('a"b'), token('<img onerror=alert(1)>')]

test('the table has one line per cell that exists, tokens quoted; left out cells are empty', () => {
  const cut: Pattern = { size: 2, layout: 'tri', data: Float32Array.from([1, Number.NaN, 0.75]), most: 1 }
  const table = patternTable(
    [
      { name: 'weight', pattern },
      { name: 'zero L0H1, L1H0', pattern: cut },
    ],
    tokens,
  )
  expect(csv(table).trim().split('\n')).toEqual([
    'query,query_token,key,key_token,weight,"zero L0H1, L1H0"',
    '0,"a""b",0,"a""b",1,1',
    '1,"<img onerror=alert(1)>",0,"a""b",0.25,',
    '1,"<img onerror=alert(1)>",1,"<img onerror=alert(1)>",0.75,0.75',
  ])
})

test.each(['arcs', 'text'])('a token is text in the %s of a figure', (form) => {
  const reading = weightReading(pattern, 'show')
  const { markup } = form === 'arcs' ? arcsBody(reading, tokens, null) : textBody(reading, tokens, 1, false)
  const parsed = new DOMParser().parseFromString(
    `<svg xmlns="http://www.w3.org/2000/svg">${markup}</svg>`,
    'image/svg+xml',
  )
  expect(parsed.querySelector('parsererror, img')).toBeNull()
  expect(parsed.documentElement.textContent).toContain(
    form === 'arcs' ? '<img oner' : '<img onerror=alert(1)>',
  )
})
