import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listCells, shareOf } from './cells.ts'
import { parsePlan } from './plan.ts'

const path = join(import.meta.dirname, '..', '..', 'models', 'induction-2l')
const model = { name: 'induction-2l', at: null, path }
const plan = (more: object = {}) =>
  parsePlan({
    models: ['induction-2l'],
    prompts: [{ ids: [5, 9, 5, 9] }, { text: 'The king' }],
    tasks: ['scan', 'ablate'].map((task) => ({ task })),
    ...more,
  })

describe('the cells of a plan', () => {
  it('of a patch are over the residual stream unless a site is named, as on the command line', () => {
    const metric = { kind: 'logit', answer: 5 }
    const pair = { ids: [5, 9, 5, 9], corrupt: { ids: [5, 7, 5, 9] } }
    const patches = (task: object) => plan({ prompts: [pair], tasks: [{ task: 'patch', metric, ...task }] })
    expect(patches({})).toEqual(patches({ site: 'resid_pre' }))
  })

  it('are models, then tasks, then prompts, in the order of the plan', () => {
    const { cells } = listCells(plan({ random: { count: 1 } }), [model, { ...model, at: 'step512' }])
    expect(cells.map(({ key }) => key)).toEqual([
      'induction-2l, scan',
      'induction-2l, ablate heads zero, prompt 0',
      'induction-2l, ablate heads zero, prompt 1',
      'induction-2l, ablate heads zero, prompt 2',
      'induction-2l step512, scan',
      'induction-2l step512, ablate heads zero, prompt 0',
      'induction-2l step512, ablate heads zero, prompt 1',
      'induction-2l step512, ablate heads zero, prompt 2',
    ])
    expect(cells.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('split by layers above the largest cell', () => {
    const { cells } = listCells(plan({ largest_cell: 1 }), [model])
    expect(cells.map(({ layers }) => layers)).toEqual([null, [0], [1], [0], [1]])
    expect(cells[1]!.key).toBe('induction-2l, ablate heads zero, prompt 0, layers 0–0')
  })

  it('have a hash that names the work, not the files or the order of keys', () => {
    const { hash } = listCells(plan(), [model])
    expect(listCells(plan(), [{ ...model }]).hash).toBe(hash)
    const turned = plan({
      tasks: [{ task: 'scan' }, { metric: { kind: 'loss' }, kind: 'zero', task: 'ablate' }],
    })
    expect(listCells(turned, [model]).hash).toBe(hash)
    for (const other of [
      plan({ threads: 2 }),
      plan({ prompts: [{ ids: [5, 9, 5, 8] }, { text: 'The king' }] }),
      plan({ tasks: [{ task: 'scan', seed: 2 }, { task: 'ablate' }] }),
      plan({ largest_cell: 1 }),
    ])
      expect(listCells(other, [model]).hash).not.toBe(hash)
    expect(listCells(plan(), [{ ...model, at: 'step512' }]).hash).not.toBe(hash)
  })
})

describe('shares', () => {
  const prompts = Array.from({ length: 40 }, (_, i) => ({ ids: Array.from({ length: 4 + 3 * i }, () => 5) }))
  const { cells } = listCells(plan({ prompts }), [model])

  it.each([1, 2, 7, 64])('hold every cell once, of %i', (n) => {
    const all = Array.from({ length: n }, (_, i) => shareOf(cells, i + 1, n))
    expect(
      all
        .flat()
        .map(({ index }) => index)
        .sort((a, b) => a - b),
    ).toEqual(cells.map(({ index }) => index))
    for (const share of all)
      expect(share.map(({ index }) => index)).toEqual(share.map(({ index }) => index).sort((a, b) => a - b))
  })

  it('cost about the same', () => {
    const loads = Array.from({ length: 4 }, (_, i) =>
      shareOf(cells, i + 1, 4).reduce((sum, { cost }) => sum + cost, 0),
    )
    expect(Math.max(...loads) / Math.min(...loads)).toBeLessThan(1.05)
  })
})

describe('a plan that does not fit is refused by its field', () => {
  it.each([
    [{ models: [] }, /"models"/],
    [{ tasks: [{ task: 'scam' }] }, /"tasks.0.task"/],
    [{ tasks: [{ task: 'scan', lenght: 3 }] }, /"tasks.0" .*lenght/],
    [{ prompts: [{ text: 'a', ids: [1] }] }, /"prompts.0" .*either/],
    [{ prompts: [] }, /ablate needs "prompts" or "random"/],
    [{ tasks: [{ task: 'ablate', kind: 'mean' }] }, /mean ablation needs "reference"/],
    [{ tasks: [{ task: 'patch', site: 'z', metric: { kind: 'loss' } }] }, /prompt 0 has no "corrupt"/],
    [{ tasks: [{ task: 'path', from: ['L0H0'], to: ['logits'] }] }, /prompt 0 has no "corrupt"; a task path/],
    [{ tasks: [{ task: 'attribute', sites: ['w'] }] }, /"tasks.0.sites.0"/],
    [{ prompts: [{ ids: [1], decoder: {} }] }, /"prompts.0.decoder" .*either/],
    [{ threads: 0 }, /"threads"/],
    [{ tasks: undefined, task: [] }, /a plan has no field "task"/],
    [{ tasks: undefined }, /"tasks" is missing; it must be a list/],
    [{ tasks: [{ task: 'scan', scores: ['inductoin'] }] }, /There is no score "inductoin"/],
    [{ tasks: [{ task: 'ablate', reference: [{ ids: [1] }] }] }, /zero ablation reads no "reference"/],
    [{ tasks: [{ task: 'ablate', mean_over: 'pos' }] }, /zero ablation reads no "mean_over"/],
  ])('%j', (more, message) => {
    expect(() => plan(more)).toThrow(
      expect.objectContaining({ code: 'bad-request', message: expect.stringMatching(message) }),
    )
  })
})
