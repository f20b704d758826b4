import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { keepStop, walkStops } from './one-stop.ts'

afterEach(() => {
  cleanup()
  vi.restoreAllMocks()
})

/** Seven buttons in lines of three, 20 × 10 pixels each, the last line with one. */
function Grid() {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside are what is used
    <div onFocus={keepStop} onKeyDown={walkStops}>
      {Array.from({ length: 7 }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a button is its place
        <button key={i} type="button" tabIndex={i === 0 ? 0 : -1}>
          {i}
        </button>
      ))}
    </div>
  )
}

it('is one stop of the Tab key, and arrows, Home and End walk inside', () => {
  vi.spyOn(HTMLElement.prototype, 'getBoundingClientRect').mockImplementation(function (this: HTMLElement) {
    const i = Number(this.textContent)
    return new DOMRect((i % 3) * 20, Math.floor(i / 3) * 10, 20, 10)
  })
  render(<Grid />)
  const at = () => Number(document.activeElement?.textContent)
  const press = (key: string) => fireEvent.keyDown(document.activeElement!, { key })
  screen.getByText('0').focus()
  const walked = [
    'ArrowRight',
    'ArrowDown',
    'ArrowDown',
    'ArrowUp',
    'End',
    'ArrowRight',
    'Home',
    'ArrowLeft',
  ].map((key) => {
    press(key)
    return at()
  })
  expect(walked).toEqual([1, 4, 6, 3, 6, 6, 0, 0])
  screen.getByText('5').focus()
  const stops = screen.getAllByRole('button').filter((button) => button.tabIndex === 0)
  expect(stops.map((button) => button.textContent)).toEqual(['5'])
})
