/**
 * A list of many buttons as one stop of the Tab key: arrows walk inside, Home and End go to its ends. In: events of what
 * holds the buttons; the first of them has tabIndex 0, the others -1. Out: the focus, and the stop, on another button.
 */
import type { FocusEvent, KeyboardEvent } from 'react'

/** Moves the stop to the button that got the focus, however it got it. */
export function keepStop(event: FocusEvent<HTMLElement>): void {
  const button = event.target as HTMLElement
  if (button.tabIndex === 0 || button.tagName !== 'BUTTON') return
  for (const other of event.currentTarget.querySelectorAll<HTMLElement>('button[tabindex="0"]'))
    other.tabIndex = -1
  button.tabIndex = 0
}

/** Walks: left and right in order, up and down to the nearest button of the next line. */
export function walkStops(event: KeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('button')]
  const at = all.indexOf(event.target as HTMLElement)
  if (at < 0) return
  const next = target(event.key, at, all)
  if (next === undefined) return
  event.preventDefault()
  next.focus()
}

function target(key: string, at: number, all: readonly HTMLElement[]): HTMLElement | undefined {
  if (key === 'ArrowRight') return all[at + 1] ?? all[at]
  if (key === 'ArrowLeft') return all[at - 1] ?? all[at]
  if (key === 'Home') return all[0]
  if (key === 'End') return all.at(-1)
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined
  const middle = (one: HTMLElement) => {
    const box = one.getBoundingClientRect()
    return { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2, high: box.height }
  }
  const here = middle(all[at]!)
  const ahead = key === 'ArrowDown' ? all.slice(at + 1) : all.slice(0, at).reverse()
  let best: { one: HTMLElement; line: number; away: number } | undefined
  for (const one of ahead) {
    const { x, y, high } = middle(one)
    if (Math.abs(y - here.y) < high / 2) continue // the same line
    if (best && Math.abs(y - best.line) >= high / 2) break // a line beyond the next
    const away = Math.abs(x - here.x)
    if (!best || away < best.away) best = { one, line: y, away }
  }
  return best?.one ?? all[at]
}
