import { expect, test } from 'vitest'
import { csv } from './csv.ts'

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
