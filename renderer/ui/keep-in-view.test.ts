import { expect, test } from 'vitest'
import { beyond, keepInView } from './keep-in-view.ts'

/** A list of rows of 10 pixels, of which 30 pixels are in view. */
function made(rows: number, scrolled: number) {
  const list = document.createElement('ol')
  const box = (top: number, height: number) => () => ({ top, bottom: top + height }) as DOMRect
  Object.defineProperties(list, { scrollHeight: { value: rows * 10 }, clientHeight: { value: 30 } })
  list.scrollTop = scrolled
  list.getBoundingClientRect = box(100, 30)
  for (let i = 0; i < rows; i++) {
    const row = list.appendChild(document.createElement('li'))
    row.getBoundingClientRect = box(100 + i * 10 - scrolled, 10)
  }
  return list
}

const moved = (rows: number, scrolled: number, at: number | null) => {
  const list = made(rows, scrolled)
  keepInView(list, at)
  return list.scrollTop
}

test('what is out of view comes to its middle; what is in view, or nowhere, moves nothing', () => {
  expect(moved(20, 0, 10)).toBe(90)
  expect(moved(20, 150, 3)).toBe(20)
  expect(moved(20, 0, 2)).toBe(0)
  expect(moved(20, 50, null)).toBe(50)
  expect(moved(20, 50, 99)).toBe(50)
  expect(moved(3, 0, 2)).toBe(0)
  keepInView(null, 1)
})

test('a box moves as little as brings it between the labels and the end, and its beginning counts more', () => {
  expect(beyond(100, 44, 30, 400)).toBe(0)
  expect(beyond(10, 44, 30, 400)).toBe(-20)
  expect(beyond(390, 44, 30, 400)).toBe(34)
  expect(beyond(60, 500, 30, 400)).toBe(30)
})
