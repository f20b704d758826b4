import { expect, test } from 'vitest'
import { alikeGroups } from './alike.ts'

/** Thumbnails of one layer, each painted by place: 0 to 255. */
function made(...paints: ((row: number, column: number) => number)[]) {
  const bytes = new Uint8Array(paints.length * 32 * 32)
  paints.forEach((paint, head) => {
    for (let row = 0; row < 32; row++)
      for (let column = 0; column <= row; column++)
        bytes[(head * 32 + row) * 32 + column] = paint(row, column)
  })
  return { layers: 1, heads: paints.length, bytes }
}
const back = (by: number) => (row: number, column: number) => (column === row - by ? 255 : 0)
const sink = (_: number, column: number) => (column === 0 ? 255 : 0)
const heads = (count: number) => Array.from({ length: count }, (_, head) => ({ layer: 0, head }))

test('heads are grouped by what they look at, whatever the sink', () => {
  const weak = (row: number, column: number) => (column === 0 ? 200 : back(1)(row, column) / 2)
  const groups = alikeGroups(made(back(1), weak, back(6), sink, back(6), back(1)), heads(6))
  expect(groups.map(({ title, heads: members }) => [title, members.map(({ head }) => head)])).toEqual([
    ['like L0H0', [0, 1, 5]],
    ['like L0H2', [2, 4]],
    ['only the first token', [3]],
    ['like no other', []],
  ])
})

test('a head that is like no other stands alone, and the given order leads', () => {
  const thumbnails = made(back(1), back(3), back(1))
  const [first, , alone] = alikeGroups(thumbnails, heads(3).reverse())
  expect(first).toEqual({
    title: 'like L0H2',
    heads: [
      { layer: 0, head: 2 },
      { layer: 0, head: 0 },
    ],
  })
  expect(alone!.heads).toEqual([{ layer: 0, head: 1 }])
})
