import { expect, test } from 'vitest'
import type { Pattern } from '../api/pattern.ts'
import { patternCsv } from './pattern-export.ts'

test('CSV: one line per cell that exists, tokens quoted', () => {
  const pattern: Pattern = { size: 2, layout: 'tri', data: Float32Array.from([1, 0.25, 0.75]) }
  const token = (text: string) => ({ id: 0, text, special: false, group: null })
  const figure = {
    pattern,
    tokens: [token('a"b'), token(',·c')],
    display: { theme: 'light', log: false, bos: 'show' } as const,
    title: 'L0H0',
  }
  expect(patternCsv(figure).trim().split('\n')).toEqual([
    'query,query_token,key,key_token,weight',
    '0,"a""b",0,"a""b",1',
    '1,",·c",0,"a""b",0.25',
    '1,",·c",1,",·c",0.75',
  ])
})
