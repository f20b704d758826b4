import { describe, expect, it } from 'vitest'
import type { AblateRequest, PatchRequest } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { idsOfSweep, isOfRun } from './of-selection.ts'

const views = (...ids: number[]): TokenView[] =>
  ids.map((id) => ({ id, text: `t${id}`, special: false, group: null }))
const ablate = (prompt: AblateRequest['prompt']): AblateRequest => ({
  model: 'm',
  prompt,
  over: 'heads',
  kind: 'zero',
  metric: { kind: 'loss' },
})

describe('a sweep and the shown run', () => {
  it('is of a run where the ids are the same: those that ran, else those that were asked for', () => {
    const run = { views: views(1, 2, 3) }
    expect(isOfRun({ request: ablate({ ids: [1, 2, 3] }), prompts: [] }, run)).toBe(true)
    expect(isOfRun({ request: ablate({ ids: [1, 2] }), prompts: [] }, run)).toBe(false)
    expect(isOfRun({ request: ablate({ text: 'abc' }), prompts: [views(1, 2, 3)] }, run)).toBe(true)
    expect(isOfRun({ request: ablate({ text: 'abc' }), prompts: [views(1, 2, 4)] }, run)).toBe(false)
  })

  it('compares both texts of an encoder and a decoder', () => {
    const run = { views: views(0, 5), source: views(7, 8) }
    const of = (source: number[]) => ({
      request: ablate({ ids: source, decoder: { ids: [0, 5] } }),
      prompts: [],
    })
    expect(isOfRun(of([7, 8]), run)).toBe(true)
    expect(isOfRun(of([7, 9]), run)).toBe(false)
  })

  it('reads both prompts of a patch', () => {
    const request = { clean: { ids: [1, 2] }, corrupt: { ids: [1, 3] } } as unknown as PatchRequest
    expect(idsOfSweep({ request, prompts: [] }, 0)).toEqual([1, 2])
    expect(idsOfSweep({ request, prompts: [] }, 1)).toEqual([1, 3])
  })
})
