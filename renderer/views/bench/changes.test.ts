import { describe, expect, it } from 'vitest'
import { changesOf, formatTyped, parseTyped, withCell } from './changes.ts'

describe('changes of a head', () => {
  it('go to the address and back', () => {
    const typed = [
      { step: 'masked scores', row: 5, column: 3, value: 1.25 },
      { step: 'masked scores', row: 6, column: 0, value: -4e-7 },
      { step: 'weighted values', row: 2, column: 15, value: -4 },
    ]
    expect(formatTyped(typed)).toBe('5.3=1.25 6.0=-4e-7 weighted_values:2.15=-4')
    expect(parseTyped(formatTyped(typed), 8)).toEqual(typed)
  })

  it('leave out what is not a number of this prompt', () => {
    expect(parseTyped('5.3=1 9.0=2 0.9=2 weights:1.9=1 query:9.0=1 x 1.1=. 2.2', 8)).toEqual([
      { step: 'masked scores', row: 5, column: 3, value: 1 },
    ])
  })

  it('replace the number of a cell, step by step', () => {
    const cell = { step: 'weights', row: 1, column: 0 }
    const once = withCell([{ ...cell, step: 'scores', value: 1 }], { ...cell, value: 2 })
    expect(withCell(once, { ...cell, value: 3 })).toEqual([
      { ...cell, step: 'scores', value: 1 },
      { ...cell, value: 3 },
    ])
  })

  it('are nothing when the head runs as it is', () => {
    expect(changesOf({}, 8)).toBeNull()
    expect(changesOf({ bench_tau: '1' }, 8)).toBeNull()
    expect(changesOf({ bench_tau: '-2' }, 8)).toBeNull()
    expect(changesOf({ bench_tau: '0.5', bench_mask: 'off', bench_scale: 'off' }, 8)).toEqual({
      temperature: 0.5,
      noMask: true,
      noScale: true,
    })
  })
})

it('of a head over a source, rows of keys and columns are the source’s', () => {
  const text = '5.7=1 key:7.0=2 query:7.0=3 memory:9.1=4 weights:2.7=0.5'
  const steps = (source: number | null) => parseTyped(text, 6, source).map(({ step }) => step)
  expect(steps(8)).toEqual(['masked scores', 'key', 'weights'])
  expect(steps(null)).toEqual([])
  expect(changesOf({ bench_mask: 'off' }, 6, 8)).toBeNull()
  expect(changesOf({ bench_mask: 'off' }, 6)).toEqual({ noMask: true })
})
