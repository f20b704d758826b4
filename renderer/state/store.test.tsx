import { act, cleanup, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { getSelection, select, showTogetherWith, useSelection } from './store.ts'

function Shown() {
  return <output>{useSelection((s) => `L${s.head?.layer}H${s.head?.head} ${s.query}`)}</output>
}
const shown = () => screen.getByRole('status').textContent

describe('a head whose pattern is on its way', () => {
  let come: () => void

  beforeEach(() => {
    vi.useFakeTimers()
    select({ head: { layer: 0, head: 0 }, query: null })
    showTogetherWith(() => new Promise<void>((resolve) => (come = resolve)))
    render(<Shown />)
  })
  afterEach(() => {
    showTogetherWith(() => null)
    vi.runAllTimers()
    vi.useRealTimers()
    cleanup()
  })

  it('is chosen at once, and shown together with its pattern', async () => {
    act(() => select({ head: { layer: 1, head: 2 } }))
    expect(getSelection().head).toEqual({ layer: 1, head: 2 })
    expect(shown()).toBe('L0H0 null')
    await act(async () => come())
    expect(shown()).toBe('L1H2 null')
  })

  it('is shown without it after a moment, with all that was chosen meanwhile', () => {
    act(() => select({ head: { layer: 1, head: 2 } }))
    act(() => select({ query: 3 }))
    act(() => select({ head: { layer: 1, head: 3 } }))
    expect(shown()).toBe('L0H0 null')
    act(() => void vi.advanceTimersByTime(30))
    expect(shown()).toBe('L1H3 3')
  })

  it('holds up nothing but another head', () => {
    act(() => select({ query: 5 }))
    expect(shown()).toBe('L0H0 5')
  })
})
