import { expect, it } from 'vitest'
import { bytes, counted, printable, table, width } from './table.ts'

it('aligns columns by what a terminal shows', () => {
  const lines = table(
    [{ title: 'token' }, { title: 'n', right: true }],
    [
      ['日本', '1'],
      [{ text: 'a', paint: (text) => `<${text}>` }, '22'],
    ],
  )
  expect(lines).toEqual(['token   n', '日本    1', '<a>      22'])
  expect(width('日本')).toBe(4)
  expect(width('e\u0301')).toBe(1)
})

it('names sizes', () => {
  expect([bytes(12), bytes(2048), bytes(3_500_000), bytes(7e9)]).toEqual([
    '12 bytes',
    '2.05 KB',
    '3.50 MB',
    '7.00 GB',
  ])
})

it('lets no text steer the terminal', () => {
  expect(printable('a\x1b[2Jb\u202ec\nd')).toBe('a<1B>[2Jb<202E>c\nd')
})

it('counts one and several', () => {
  expect([counted(1, 'run'), counted(0, 'run'), counted(2, 'query', 'queries')]).toEqual([
    '1 run',
    '0 runs',
    '2 queries',
  ])
})
