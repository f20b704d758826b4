/** Path patching and attribution patching: known circuits, and estimates beside exact runs. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { type AttributionCell, attribute } from '../../core/intervene/attribute.ts'
import { patch } from '../../core/intervene/patch.ts'
import { type PathCell, pathPatch } from '../../core/intervene/path.ts'
import { type Change, float64Model } from '../support/float64-forward.ts'
import { FIXTURES } from '../support/golden.ts'

const { sequences } = JSON.parse(readFileSync(join(FIXTURES, 'constructed', 'expect.json'), 'utf8'))

describe('induction-exact', () => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'constructed', 'induction-exact'))
  })
  afterAll(() => model.close())

  // [BOS, r…, r…]: at pos 40 the model says the token after the earlier copy. In the corrupt prompt the earlier copy of
  // that token is another one, so that no earlier place is found.
  const clean: number[] = sequences[0].ids
  const pos = 40
  const earlier = pos - 30
  const corrupt = clean.map((id, at) => (at === earlier ? clean[5]! : id))
  const metric = { kind: 'logprob', pos, answer: clean[pos + 1]! } as const

  test('L0H0 speaks to L1H0 through its keys only', async () => {
    const result = await pathPatch(model, clean, corrupt, {
      from: ['L0H0', 'L0H1', 'L0.mlp'],
      to: ['L1H0.q', 'L1H0.k', 'L1H0.v', 'L1H1.k', 'logits'],
      metric,
    })
    const delta = (from: string, to: string) =>
      result.cells.find((cell) => cell.from === from && cell.to === to)!.delta!
    expect(result.clean).toBeGreaterThan(-0.01)
    expect(delta('L0H0', 'L1H0.k')).toBeLessThan(-5)
    expect(delta('L0H0', 'L1H0.q')).toBeCloseTo(0, 4)
    expect(delta('L0H0', 'L1H0.v')).toBeCloseTo(0, 4)
    expect(delta('L0H0', 'L1H1.k')).toBeCloseTo(0, 4)
    expect(delta('L0H1', 'L1H0.k')).toBeCloseTo(0, 4)
    expect(delta('L0.mlp', 'L1H0.k')).toBeCloseTo(0, 4)
  })

  test('the whole circuit in one go: embedding → L0H0 through its values → L1H0 through its keys → logits', async () => {
    const circuit = [
      { from: 'embed', to: 'L0H0.v' },
      { from: 'L0H0', to: 'L1H0.k' },
      { from: 'L1H0', to: 'logits' },
    ]
    const beside = [
      { from: 'embed', to: 'L0H0.q' },
      { from: 'embed', to: 'L0H0.k' },
      { from: 'embed', to: 'L1H0.q' },
      { from: 'embed', to: 'L1H0.k' },
      { from: 'embed', to: 'L1H0.v' },
      { from: 'L0H0', to: 'logits' },
      { from: 'L1H1', to: 'logits' },
    ]
    for (const mlps of ['freeze', 'recompute'] as const) {
      const { cells } = await pathPatch(model, clean, corrupt, {
        edges: [...circuit, ...beside],
        metric,
        mlps,
      })
      expect(cells.map(({ from, to }) => ({ from, to }))).toEqual([...circuit, ...beside])
      const whole = cells[2]!.delta!
      expect(whole).toBeLessThan(-5)
      // A head that looks everywhere alike copies the changed token too, a little: 5 % of the logits.
      for (const { delta } of cells.slice(0, 2)) expect(Math.abs(delta! / whole - 1)).toBeLessThan(0.06)
      for (const { delta, from, to } of cells.slice(3)) expect(delta!, `${from} → ${to}`).toBeCloseTo(0, 4)
    }
  })

  test('every sender into one receiver, with a price first, cells as they come, and the known ones left alone', async () => {
    const to = ['L1H0.q', 'L1H0.k', 'L1H0.v']
    let cells = 0
    const parts: PathCell[] = []
    const all = await pathPatch(model, clean, corrupt, {
      from: ['all'],
      to,
      metric,
      onEstimate: (estimate) => {
        expect(parts).toHaveLength(0)
        expect(estimate.seconds).toBeGreaterThan(0)
        cells = estimate.cells
      },
      onCells: (more) => parts.push(...more),
    })
    expect(all.cells.map(({ from }) => from)).toEqual(
      ['embed', 'L0H0', 'L0H1', 'L0.mlp'].flatMap((from) => [from, from, from]),
    )
    expect(cells).toBe(12)
    expect(parts).toHaveLength(12)
    const strongest = [...all.cells].sort((a, b) => Math.abs(b.delta!) - Math.abs(a.delta!))[0]!
    expect(strongest).toMatchObject({ from: 'L0H0', to: 'L1H0.k' })

    const known = all.cells.slice(0, 7).map((cell) => ({ ...cell, value: 1, delta: 2 }))
    const again: PathCell[] = []
    const rest = await pathPatch(model, clean, corrupt, {
      from: ['all'],
      to,
      metric,
      known,
      onCells: (more) => again.push(...more),
    })
    expect(again).toHaveLength(5)
    expect(rest.cells.slice(0, 7)).toEqual(known)
    rest.cells.slice(7).forEach((cell, i) => {
      expect(cell.delta!).toBeCloseTo(all.cells[7 + i]!.delta!, 4)
    })
  })

  test('a receiver before its sender has no path, and says so', async () => {
    const { cells } = await pathPatch(model, clean, corrupt, {
      from: ['L1H0'],
      to: ['L0H0.k', 'logits'],
      metric,
    })
    expect(cells[0]).toMatchObject({
      value: null,
      delta: null,
      why: 'L1H0 comes after L0H0.k, so there is no path',
    })
    expect(cells[1]!.value).not.toBeNull()
  })

  test('names that the model lacks are refused', async () => {
    const run = (from: string, to: string) =>
      pathPatch(model, clean, corrupt, { from: [from], to: [to], metric })
    await expect(run('L5H0', 'logits')).rejects.toThrow('layers of this model are 0 to 1')
    await expect(run('L0H7', 'logits')).rejects.toThrow('heads of layer 0 are 0 to 1')
    await expect(run('L0H0', 'L1H0')).rejects.toThrow('is not a receiver')
    await expect(run('L0H0.q', 'logits')).rejects.toThrow('is not a sender')
    await expect(run('L0H0.cross', 'logits')).rejects.toThrow('no cross-attention')
    await expect(pathPatch(model, clean, corrupt, { edges: [], metric })).rejects.toThrow('no edge')
  })
})

describe.each(['gpt2-prefixed', 'llama-gqa'])('%s against a float64 forward written by hand', (name) => {
  const CLEAN = [5, 9, 11, 3, 9, 11, 7, 20]
  const CORRUPT = [5, 9, 30, 3, 8, 11, 7, 21]
  const metric = { kind: 'logit_diff', answer: 4, wrong: 31 } as const
  const path = join(FIXTURES, 'transformers', name)
  const reference = float64Model(path)
  let model: Model
  beforeAll(async () => {
    model = await openModel(path)
  })
  afterAll(() => model.close())

  /** Flat place of a value in what `hook` returns. */
  const flat = (hook: string, index: readonly number[]) => {
    const { shape } = model.hooks.find((one) => one.name === hook)!
    const sizes = shape.slice(2) as number[]
    return index.slice(1).reduce((at, i, axis) => at * sizes[axis]! + i, index[0]!)
  }
  const difference = (change?: Change) => {
    const row = reference.run(CLEAN, change).logits.at(-1)!
    return row[metric.answer]! - row[metric.wrong]!
  }

  /** Both steps of the definition, value by value. `sender`: at which hook, which head. */
  function edge(
    [said, head]: [string, number | null],
    [heard, headOf]: [string, number | null] | ['logits', null],
    freeze: boolean,
  ): number {
    const [own, other] = [reference.run(CLEAN), reference.run(CORRUPT)]
    const layer = said === 'embed' ? -1 : Number(/\.(\d+)\./.exec(said)![1])
    const held: Change = (hook, index, value) => {
      if (said === 'embed' && hook === 'blocks.0.hook_resid_pre') return other.hook(hook)[flat(hook, index)]!
      if (hook === said && (head === null || index[1] === head)) return other.hook(hook)[flat(hook, index)]!
      const from = Number(/\.(\d+)\./.exec(hook)?.[1] ?? -1)
      const frozen = hook.endsWith('attn.hook_z') || (freeze && hook.endsWith('hook_mlp_out'))
      return frozen && from >= layer ? own.hook(hook)[flat(hook, index)]! : value
    }
    if (heard === 'logits') return difference(held)
    const recorded = reference.run(CLEAN, held).hook(heard)
    return difference((hook, index, value) => {
      return hook === heard && (headOf === null || index[1] === headOf) ? recorded[flat(hook, index)]! : value
    })
  }

  test.each(['freeze', 'recompute'] as const)('edges with MLPs that %s', async (mlps) => {
    const kv = model.spec.stacks[0]!.layers[0]!.nKvHeads
    const heads = model.spec.stacks[0]!.layers[0]!.nHeads
    const group = (head: number) => Math.floor(head / (heads / kv))
    const z = 'blocks.0.attn.hook_z'
    const cases: [string, string, number][] = [
      ['L0H1', 'L1H2.q', edge([z, 1], ['blocks.1.attn.hook_rot_q', 2], mlps === 'freeze')],
      ['L0H2', 'L1H3.k', edge([z, 2], ['blocks.1.attn.hook_rot_k', group(3)], mlps === 'freeze')],
      ['L0H1', 'L1H0.v', edge([z, 1], ['blocks.1.attn.hook_v', group(0)], mlps === 'freeze')],
      ['L0H0', 'logits', edge([z, 0], ['logits', null], mlps === 'freeze')],
      ['L0.mlp', 'logits', edge(['blocks.0.hook_mlp_out', null], ['logits', null], mlps === 'freeze')],
      [
        'L0.mlp',
        'L1H1.q',
        edge(['blocks.0.hook_mlp_out', null], ['blocks.1.attn.hook_rot_q', 1], mlps === 'freeze'),
      ],
      ['embed', 'L0H1.k', edge(['embed', null], ['blocks.0.attn.hook_rot_k', group(1)], mlps === 'freeze')],
      ['embed', 'L1H0.q', edge(['embed', null], ['blocks.1.attn.hook_rot_q', 0], mlps === 'freeze')],
      ['embed', 'logits', edge(['embed', null], ['logits', null], mlps === 'freeze')],
    ]
    const { cells, clean, warnings } = await pathPatch(model, CLEAN, CORRUPT, {
      edges: cases.map(([from, to]) => ({ from, to })),
      metric,
      mlps,
    })
    expect(clean).toBeCloseTo(difference(), 4)
    cells.forEach(({ value, from, to }, i) => {
      const expected = cases[i]![2]
      expect(Math.abs(value! - expected), `${from} → ${to}: ${value}, ${expected}`).toBeLessThan(
        1e-4 * Math.max(1, Math.abs(expected)),
      )
    })
    expect(warnings).toHaveLength(kv < heads ? 3 : 0)
    if (kv < heads) expect(warnings[0]).toMatch(/L1H3\.k is shared: .*L1H3.* read the same keys/)
  })
})

describe.each(['gpt2-prefixed', 'llama-gqa', 'gemma2-softcap', 'neox-parallel', 'qwen3-moe'])(
  '%s',
  (name) => {
    const CLEAN = [5, 9, 11, 3, 9, 11, 7, 20, 5, 9]
    const metric = { kind: 'logit_diff', answer: 4, wrong: 31 } as const
    let model: Model
    beforeAll(async () => {
      model = await openModel(join(FIXTURES, 'transformers', name))
    })
    afterAll(() => model.close())

    test('sender to logits with everything held equals patching z where nothing is between', async () => {
      const CORRUPT = [5, 9, 12, 3, 9, 30, 7, 20, 5, 8]
      const last = model.spec.stacks[0]!.layers.length - 1
      const { cells, clean } = await pathPatch(model, CLEAN, CORRUPT, {
        from: [`L${last}H1`],
        to: ['logits'],
        metric,
      })
      const patched = await patch(model, CLEAN, CORRUPT, { site: 'z', direction: 'noise', metric })
      expect(patched.clean).toBeCloseTo(clean, 4)
      expect(cells[0]!.value!).toBeCloseTo(
        patched.cells.find((cell) => cell.layer === last && cell.head === 1)!.value!,
        3,
      )
    })

    test('an estimate is the slope of the exact effect', async () => {
      const CORRUPT = CLEAN.map((id, pos) => (pos === 2 ? 12 : id))
      const { cells, corrupt } = await attribute(model, CLEAN, CORRUPT, {
        metric,
        sites: ['z', 'mlp_out', 'v'],
      })
      const captured = async (ids: number[]) =>
        model.run(ids, { capture: ['*hook_z', '*hook_mlp_out', '*attn.hook_v'], top: 0 })
      const [clean, base] = [await captured(CLEAN), await captured(CORRUPT)]
      const largest = [...cells].sort((a, b) => Math.abs(b.estimate) - Math.abs(a.estimate)).slice(0, 6)
      const step = 0.02
      for (const { site, layer, head, pos, estimate } of largest) {
        const hook = `blocks.${layer}.${{ z: 'attn.hook_z', mlp_out: 'hook_mlp_out', v: 'attn.hook_v', q: '', k: '' }[site]}`
        const { data, shape } = clean.get(hook)
        const values = data.map((value, i) => value - base.get(hook).data[i]!)
        const where = head === undefined ? {} : site === 'v' ? { kv_head: head } : { head }
        const metricOf = async (by: number) => {
          const edit: Edit = { hook, ...where, pos, op: 'add', by, from: { values, shape } }
          const { data: logits } = (
            await model.run(CORRUPT, { capture: ['logits'], edits: [edit], top: 0 })
          ).get('logits')
          const last = (CORRUPT.length - 1) * model.spec.dVocab
          return logits[last + metric.answer]! - logits[last + metric.wrong]!
        }
        const slope = ((await metricOf(step)) - (await metricOf(-step))) / (2 * step)
        expect(Math.abs(slope - estimate), `${hook} ${head} ${pos}`).toBeLessThan(
          0.03 * Math.abs(estimate) + 2e-3,
        )
      }
      expect(corrupt).toBeTypeOf('number')
    })

    test('the largest are verified exactly, and say how far to trust the rest', async () => {
      const CORRUPT = CLEAN.map((id, pos) => (pos === 2 ? 12 : id))
      const result = await attribute(model, CLEAN, CORRUPT, { metric, sites: ['z'], verify: 12 })
      const patched = await patch(model, CLEAN, CORRUPT, { site: 'z', by: 'layer,pos', metric })
      const verified = result.cells.filter((cell) => cell.exact !== undefined)
      expect(verified).toHaveLength(12)
      expect(result.trust).toMatchObject({ n: 12 })
      expect(result.corrupt).toBeCloseTo(patched.corrupt, 3)
      expect(result.clean).toBeCloseTo(patched.clean, 3)
    })

    test('exact runs come first, are not repeated, and equal single runs for every metric', async () => {
      const CORRUPT = CLEAN.map((id, pos) => (pos === 2 ? 12 : id))
      for (const asked of [metric, { kind: 'loss' } as const]) {
        const options = { metric: asked, sites: ['z', 'mlp_out'] as const, verify: 9 }
        const parts: AttributionCell[] = []
        let planned = 0
        const whole = await attribute(model, CLEAN, CORRUPT, {
          ...options,
          onCells: (more) => parts.push(...more),
          onEstimate: ({ cells }) => {
            planned = cells
          },
        })
        expect(parts).toHaveLength(planned)
        expect(whole.cells).toHaveLength(planned)
        expect(parts.slice(0, 9).every(({ exact }) => exact !== undefined)).toBe(true)
        const patched = await patch(model, CLEAN, CORRUPT, {
          site: 'mlp_out',
          by: 'layer,pos',
          metric: asked,
        })
        for (const cell of whole.cells.filter(
          ({ site, exact }) => site === 'mlp_out' && exact !== undefined,
        )) {
          const same = patched.cells.find(({ layer, pos }) => layer === cell.layer && pos === cell.pos)!
          expect(cell.exact!).toBeCloseTo(same.value! - patched.corrupt, 3)
        }
        const known = parts.slice(0, 4).map((cell) => ({ ...cell, exact: 77 }))
        const again: AttributionCell[] = []
        const resumed = await attribute(model, CLEAN, CORRUPT, {
          ...options,
          known,
          onCells: (more) => again.push(...more),
        })
        expect(again).toHaveLength(planned - 4)
        expect(again.filter(({ exact }) => exact !== undefined)).toHaveLength(5)
        expect(resumed.cells.filter(({ exact }) => exact === 77)).toHaveLength(4)
      }
    })

    test('GradDrop is no smaller than a share of the estimate, and the same on recomputed values', async () => {
      const CORRUPT = CLEAN.map((id, pos) => (pos === 2 ? 12 : id))
      const kept = await attribute(model, CLEAN, CORRUPT, { metric, gradDrop: true })
      const recomputed = await attribute(model, CLEAN, CORRUPT, { metric, gradDrop: true, saveBudget: 0 })
      kept.cells.forEach((cell, i) => {
        expect(cell.dropped).toBeGreaterThanOrEqual(0)
        expect(recomputed.cells[i]!.estimate).toBeCloseTo(cell.estimate, 4)
        expect(recomputed.cells[i]!.dropped!).toBeCloseTo(cell.dropped!, 4)
      })
    })
  },
)
