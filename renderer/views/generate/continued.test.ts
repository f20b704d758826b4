import { describe, expect, it } from 'vitest'
import type { GenerateReply } from '../../../core/api/contract.ts'
import { cacheError, continued, idsOf } from './continued.ts'

const view = (id: number) => ({ id, text: `t${id}`, special: false, group: null })

const reply = (prompt: number[], tokens: number[], uncached: (number | null)[] | null): GenerateReply => ({
  prompt: prompt.map(view),
  tokens: tokens.map(view),
  text: '',
  log_probs: tokens.map((id) => -id / 10),
  uncached,
  stopped: 'max',
  cache_bytes: 8 * (prompt.length + tokens.length),
})

describe('a continuation', () => {
  it('grows, and keeps its own prompt', () => {
    const first = continued(null, reply([1, 2], [3], [-0.3]))
    const both = continued(first, reply([1, 2, 3], [4, 5], [-0.4, -0.501]))
    expect(idsOf(both)).toEqual([1, 2, 3, 4, 5])
    expect(both.prompt).toHaveLength(2)
    expect(cacheError(both.tokens)).toBeCloseTo(0.001, 10)
  })

  it('has no error where there is no uncached run', () => {
    expect(cacheError(continued(null, reply([1], [2], null)).tokens)).toBeNull()
  })
})
