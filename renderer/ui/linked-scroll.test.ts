import { renderHook } from '@testing-library/react'
import { expect, test } from 'vitest'
import { useLinkedScroll } from './linked-scroll.ts'

/** A part of 100 pixels with so many of content; a browser that has no layout gives it none. */
function part(content: number, height = 100): HTMLElement {
  const element = document.createElement('div')
  Object.defineProperties(element, {
    scrollHeight: { value: content },
    clientHeight: { value: height },
    scrollTop: { value: 0, writable: true },
  })
  return element
}

test('the others follow to the same share, until they are gone', () => {
  const { result } = renderHook(useLinkedScroll)
  const [long, short] = [part(1100), part(600)]
  result.current(long)
  const leave = result.current(short)
  long.scrollTop = 500
  long.dispatchEvent(new Event('scroll'))
  expect(short.scrollTop).toBe(250)
  leave?.()
  long.scrollTop = 0
  long.dispatchEvent(new Event('scroll'))
  expect(short.scrollTop).toBe(250)
})

test('the same text is moved line by line, whatever is seen of it', () => {
  const { result } = renderHook(useLinkedScroll)
  const [a, b] = [part(1000), part(1000, 300)]
  result.current(a)
  result.current(b)
  a.scrollTop = 200
  a.dispatchEvent(new Event('scroll'))
  expect(b.scrollTop).toBe(200)
})

test('rounding is not followed back', () => {
  const { result } = renderHook(useLinkedScroll)
  const [a, b] = [part(1100), part(433)]
  result.current(a)
  result.current(b)
  a.scrollTop = 501
  a.dispatchEvent(new Event('scroll'))
  b.dispatchEvent(new Event('scroll'))
  expect(a.scrollTop).toBe(501)
})
