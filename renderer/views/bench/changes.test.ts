import { describe, expect, it } from 'vitest'
import { changesOf, formatTyped, parseTyped, withScore } from './changes.ts'

describe('changes of a head', () => {
  it('go to the address and back', () => {
    const typed = [
      { query: 5, key: 3, score: 1.25 },
      { query: 6, key: 0, score: -4e-7 },
    ]
    expect(parseTyped(formatTyped(typed), 8)).toEqual(typed)
  })

  it('leave out what is not a score of this prompt', () => {
    expect(parseTyped('5.3=1 9.0=2 0.9=2 x 1.1=. 2.2', 8)).toEqual([{ query: 5, key: 3, score: 1 }])
  })

  it('replace the score of a pair', () => {
    const once = withScore([], { query: 1, key: 0, score: 2 })
    expect(withScore(once, { query: 1, key: 0, score: 3 })).toEqual([{ query: 1, key: 0, score: 3 }])
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
