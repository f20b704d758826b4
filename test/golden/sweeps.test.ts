/** A sweep's cells equal single edited runs, counted rows equal the formula, and known circuits come out. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Edit, type Model, openModel } from '../../core/index.ts'
import { type Ablated, ablate } from '../../core/intervene/ablate.ts'
import { PATCH_SITES, type PatchSite, patch } from '../../core/intervene/patch.ts'
import { FIXTURES } from '../support/golden.ts'

const CASES = [
  'gpt2-prefixed',
  'neox-parallel',
  'llama-gqa',
  'gemma2-softcap',
  'qwen3-moe',
  'falcon-new-arch',
]
const CLEAN = [5, 9, 11, 3, 9, 11, 7, 20, 5, 9]
const CORRUPT = [5, 9, 12, 3, 9, 30, 7, 20, 5, 8]
const METRIC = { kind: 'logit_diff', answer: 4, wrong: 31 } as const

const difference = (logits: Float32Array, vocab: number, rows: number) =>
  logits[(rows - 1) * vocab + METRIC.answer]! - logits[(rows - 1) * vocab + METRIC.wrong]!

describe.each(CASES)('%s', (name) => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'transformers', name))
  })
  afterAll(() => model.close())

  const single = async (ids: readonly (readonly number[])[], edits: Edit[]) => {
    const run = await model.run(ids, { capture: ['logits'], edits, top: 0 })
    return difference(run.get('logits').data, model.spec.dVocab, ids[0]!.length)
  }
  const sample = <C>(cells: readonly C[]) => cells.filter((_, i) => i % 5 === 0 || i === cells.length - 1)

  test('zero ablation of heads, MLPs, layers and positions', async () => {
    for (const over of ['heads', 'mlps', 'layers', 'positions'] as const) {
      const { base, cells } = await ablate(model, CLEAN, { over, kind: 'zero', metric: METRIC })
      expect(base).toBeCloseTo(await single([CLEAN], []), 4)
      for (const cell of sample(cells)) {
        const at = cell.pos === undefined ? {} : { pos: cell.pos }
        const block = `blocks.${cell.layer}`
        const edits: Edit[] =
          over === 'heads'
            ? [{ hook: `${block}.attn.hook_z`, head: cell.head!, op: 'zero' }]
            : [{ hook: `${block}.hook_mlp_out`, ...at, op: 'zero' }]
        if (over === 'layers' || over === 'positions')
          edits.push({ hook: `${block}.hook_attn_out`, ...at, op: 'zero' })
        const value = await single([CLEAN], edits)
        expect(Math.abs(cell.value! - value), `${over} ${JSON.stringify(cell)}`).toBeLessThan(
          1e-4 * Math.max(1, Math.abs(value)),
        )
        expect(cell.delta).toBeCloseTo(value - base, 3)
      }
    }
  })

  test('mean and resample ablation', async () => {
    const reference = [CORRUPT, [...CLEAN].reverse()]
    const runs = await model.run(reference, { capture: ['*attn.hook_z'] })
    for (const meanOver of ['all', 'pos'] as const) {
      const { cells, settings } = await ablate(model, CLEAN, {
        over: 'heads',
        kind: 'mean',
        metric: METRIC,
        reference,
        meanOver,
      })
      expect(settings.reference).toEqual({ prompts: 2, positions: 20 })
      for (const cell of sample(cells)) {
        const hook = `blocks.${cell.layer}.attn.hook_z`
        const { data, shape } = runs.get(hook)
        const [batch, rows, heads, size] = shape as [number, number, number, number]
        const mean = new Float32Array(rows * heads * size)
        for (let i = 0; i < data.length; i++) {
          const within = i % (rows * heads * size)
          if (meanOver === 'pos') mean[within]! += data[i]! / batch
          else
            for (let row = 0; row < rows; row++)
              mean[row * heads * size + (i % (heads * size))]! += data[i]! / (batch * rows)
        }
        const edit: Edit = {
          hook,
          head: cell.head!,
          op: 'set',
          from: { values: mean, shape: [1, rows, heads, size] },
        }
        expect(cell.value!).toBeCloseTo(await single([CLEAN], [edit]), 3)
      }
    }
    const { cells } = await ablate(model, CLEAN, {
      over: 'heads',
      kind: 'resample',
      metric: METRIC,
      reference: [CORRUPT],
    })
    for (const cell of sample(cells)) {
      const edit: Edit = {
        hook: `blocks.${cell.layer}.attn.hook_z`,
        head: cell.head!,
        op: 'set',
        from: { ids: CORRUPT },
      }
      expect(cell.value!).toBeCloseTo(await single([CLEAN], [edit]), 3)
    }
  })

  test.each((Object.keys(PATCH_SITES) as PatchSite[]).filter((site) => !site.startsWith('cross_')))(
    'patching %s in both directions',
    async (site) => {
      const hookName = (layer: number) => `blocks.${layer}.${PATCH_SITES[site]}`
      for (const direction of ['denoise', 'noise'] as const) {
        const result = await patch(model, CLEAN, CORRUPT, { site, direction, metric: METRIC })
        expect(result.differing).toEqual([2, 5, 9])
        const [into, from] = direction === 'denoise' ? [CORRUPT, CLEAN] : [CLEAN, CORRUPT]
        for (const cell of sample(result.cells)) {
          const where = {
            ...(cell.head === undefined
              ? {}
              : site === 'k' || site === 'v'
                ? { kv_head: cell.head }
                : { head: cell.head }),
            ...(cell.pos === undefined ? {} : { pos: cell.pos }),
          }
          const value = await single(
            [into],
            [{ hook: hookName(cell.layer), ...where, op: 'set', from: { ids: from } }],
          )
          expect(Math.abs(cell.value! - value), JSON.stringify(cell)).toBeLessThan(
            2e-4 * Math.max(1, Math.abs(value)),
          )
          expect(cell.normalized).toBeCloseTo(
            (cell.value! - result.corrupt) / (result.clean - result.corrupt),
            9,
          )
        }
        // Before the first token that differs a patch changes nothing, and nothing is run for it.
        for (const cell of result.cells.filter(({ pos }) => pos !== undefined && pos < 2))
          expect(cell.value).toBe(direction === 'denoise' ? result.corrupt : result.clean)
      }
    },
  )
})

describe('sweeps', () => {
  let model: Model
  beforeAll(async () => {
    model = await openModel(join(FIXTURES, 'constructed', 'induction-exact'))
  })
  afterAll(() => model.close())
  const { ids } = JSON.parse(readFileSync(join(FIXTURES, 'constructed', 'expect.json'), 'utf8')).sequences[0]

  test('the constructed heads matter, the empty ones do not', async () => {
    const { base, cells } = await ablate(model, ids, {
      over: 'heads',
      kind: 'zero',
      metric: { kind: 'loss', pos: 40 },
    })
    const delta = (layer: number, head: number) =>
      cells.find((cell) => cell.layer === layer && cell.head === head)!.delta!
    expect(base).toBeLessThan(0.01)
    expect(delta(0, 0)).toBeGreaterThan(5)
    expect(delta(1, 0)).toBeGreaterThan(5)
    expect(delta(0, 1)).toBeCloseTo(0, 5)
    expect(delta(1, 1)).toBeCloseTo(0, 5)
  })

  test.each([undefined, [1]])(
    'the rows that blocks compute are those of the formula, layers %j',
    async (only) => {
      const engine = model.engine()
      const { run } = engine.pool
      const counted: number[] = []
      Object.assign(engine.pool, {
        run: (key: string, make: never, feeds: ReadonlyMap<string, { shape: readonly number[] }>) => {
          const resid = feeds.get('in.resid')
          if (resid && /^\d/.test(key)) counted.push(resid.shape[0]! * resid.shape[1]!)
          return run(key, make, feeds as never)
        },
      })
      try {
        const layers = model.spec.stacks.at(-1)!.layers.length
        let estimated = 0
        await ablate(model, ids, {
          over: 'positions',
          kind: 'zero',
          metric: METRIC,
          mode: 'explore',
          ...(only ? { layers: only } : {}),
          onEstimate(estimate) {
            estimated = estimate.blockRows
            counted.length = 0 // what came before is the base run
          },
        })
        expect(counted.reduce((sum, rows) => sum + rows, 0)).toBe(estimated)
        // Suffixes of near-equal length, half of the layers: about a quarter of all rows of all blocks.
        const whole = layers * ids.length * layers * ids.length
        expect(estimated / whole).toBeLessThan((0.5 * (layers + 1)) / layers / 1.7)
      } finally {
        Object.assign(engine.pool, { run })
      }
    },
  )

  test('cancel keeps what is done, and a resumed sweep gives the same cells', async () => {
    const controller = new AbortController()
    const known: Ablated['cells'][number][] = []
    const options = { over: 'positions', kind: 'zero', metric: METRIC } as const
    const cancelled = ablate(model, ids, {
      ...options,
      signal: controller.signal,
      onCells: (cells) => {
        known.push(...cells)
        if (known.length > 20) controller.abort()
      },
    })
    await expect(cancelled).rejects.toThrow('cancelled')
    const computed: unknown[] = []
    const resumed = await ablate(model, ids, {
      ...options,
      known,
      onCells: (cells) => computed.push(...cells),
    })
    expect(computed.length).toBe(resumed.cells.length - known.length)
    const whole = await ablate(model, ids, options)
    resumed.cells.forEach((cell, i) => {
      expect(cell.value).toBeCloseTo(whole.cells[i]!.value!, 4)
    })
  })

  test('bad requests are one sentence before anything runs', async () => {
    const options = { over: 'heads', kind: 'zero', metric: METRIC } as const
    await expect(ablate(model, [], options)).rejects.toThrow('is empty')
    await expect(
      ablate(model, ids, { ...options, metric: { kind: 'logit_diff', answer: 'ab', wrong: 3 } }),
    ).rejects.toThrow('is 2 tokens')
    await expect(ablate(model, ids, { ...options, kind: 'mean', reference: [] })).rejects.toThrow(
      'the reference is empty',
    )
    await expect(patch(model, [1, 2, 3], [1, 2], { site: 'z', metric: METRIC })).rejects.toThrow(
      '3 tokens and the corrupt one 2',
    )
    await expect(patch(model, [1, 2, 3], [1, 2, 3], { site: 'z', metric: METRIC })).rejects.toThrow(
      'are the same',
    )
    await expect(
      patch(model, [1, 2], [1, 3], { site: 'mlp_out', by: 'layer,head', metric: METRIC }),
    ).rejects.toThrow('no single head')
  })
})
