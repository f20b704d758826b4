import { expect, test } from 'vitest'
import { csv, csvUpTo } from './csv.ts'

test('CSV quotes text and leaves nothing for null', () => {
  expect(
    csv({
      columns: ['token', 'value, nats'],
      rows: [
        ['a"b', 1.5],
        ['·', null],
      ],
    }),
  ).toBe('token,"value, nats"\n"a""b",1.5\n"·",\n')
})

test('rows are not made beyond a limit', () => {
  let made = 0
  function* rows() {
    for (;;) {
      made++
      yield [1]
    }
  }
  expect(csvUpTo({ columns: ['a'], rows: rows() }, 7)).toBeNull()
  expect(made).toBe(3)
  expect(csvUpTo({ columns: ['a'], rows: [[1], [2], [3]] }, 8)).toBe('a\n1\n2\n3\n')
})
