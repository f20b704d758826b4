import { describe, expect, it } from 'vitest'
import type { GenerateReply, GenerateRequest } from '../../../core/api/contract.ts'
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

const ask = (max: number, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  model: 'm',
  prompt: { ids: [1, 2] },
  max,
  ...more,
})

describe('a continuation', () => {
  it('grows, and keeps its own prompt', () => {
    const first = continued(null, reply([1, 2], [3], [-0.3]), ask(1))
    const both = continued(first, reply([1, 2, 3], [4, 5], [-0.4, -0.501]), ask(2))
    expect(idsOf(both)).toEqual([1, 2, 3, 4, 5])
    expect(both.prompt).toHaveLength(2)
    expect(cacheError(both.tokens)).toBeCloseTo(0.001, 10)
  })

  it('has no error where there is no uncached run', () => {
    expect(cacheError(continued(null, reply([1], [2], null), ask(1)).tokens)).toBeNull()
  })

  it('is one request: the first one, for all tokens; draws that went on are none', () => {
    const grown = (more: Partial<GenerateRequest>) =>
      continued(continued(null, reply([1, 2], [3], null), ask(1, more)), reply([1, 2, 3], [4], null), {
        ...ask(1, more),
        prompt: { ids: [1, 2, 3] },
      })
    expect(grown({ chat: true }).request).toEqual(ask(2, { chat: true }))
    expect(grown({ temperature: 0.7, seed: 3 }).request).toBeNull()
    expect(continued(null, reply([1, 2], [3], null), ask(1, { temperature: 0.7 })).request).toEqual(
      ask(1, { temperature: 0.7 }),
    )
  })
})
