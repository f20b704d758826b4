/** Every formula of attention on a bundled checkpoint and on fixtures of other families. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Model, openModel } from '../../run/model.ts'
import type { Edit } from '../../run/types.ts'
import { headMatrix, outputMatrix } from '../head-weights.ts'
import { multiply, singularValues, transpose } from '../matrix.ts'
import { addRows, rowsOf } from './gradients.ts'
import { headRows, kvHeadOf, type Rows, rowOf } from './head-run.ts'
import {
  accounting,
  attentionMemory,
  basisCheck,
  blockGradients,
  editStep,
  GPT3,
  headGradients,
  headRun,
  headSpectra,
  headSteps,
  headsAdd,
  nudge,
  parameterGradients,
  reachCurve,
  scoreReach,
  scoreSteps,
  sharpeningCurve,
  sharpness,
  softmax,
  sourceContributions,
} from './index.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const fixture = (name: string) => join(ROOT, 'test', 'fixtures', 'transformers', name)
const variant = (name: string) => join(ROOT, 'test', 'fixtures', 'variants', name)
const CHECKPOINTS = [
  ['induction-2l', join(ROOT, 'models', 'induction-2l')],
  ['llama-gqa', fixture('llama-gqa')],
  ['gemma2-softcap', fixture('gemma2-softcap')],
  ['neox-parallel', fixture('neox-parallel')],
  ['olmo2-postnorm', fixture('olmo2-postnorm')],
  ['granite-multipliers', fixture('granite-multipliers')],
  ['qwen3-qknorm-sharded', fixture('qwen3-qknorm-sharded')],
  ['bloom-alibi', fixture('bloom-alibi')],
  ['opt-postnorm-projected', variant('opt-postnorm-projected')],
  ['the decoder of t5-gated-untied', join(ROOT, 'test', 'fixtures', 'encoder-decoder', 't5-gated-untied')],
  ['the decoder of bart-scaled', join(ROOT, 'test', 'fixtures', 'encoder-decoder', 'bart-scaled')],
  ['the decoder of marian-shared', join(ROOT, 'test', 'fixtures', 'encoder-decoder', 'marian-shared')],
] as const
const IDS = [3, 17, 5, 9, 21, 5, 9, 4]
const METRIC = { kind: 'logit_diff', answer: 6, wrong: 11 } as const

/** Largest difference over the largest value of b. */
const error = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length)
  let most = 0
  let worst = 0
  for (let i = 0; i < a.length; i++) {
    if (a[i] === b[i]) continue
    most = Math.max(most, Math.abs(b[i]!))
    worst = Math.max(worst, Math.abs(a[i]! - b[i]!))
  }
  return most > 0 ? worst / most : worst
}
const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0)

describe.each(CHECKPOINTS)('%s', (_, path) => {
  let model: Model
  const place = { layer: 1, head: 1 }
  beforeAll(async () => {
    const opened = await openModel(path)
    model = opened.spec.encoderDecoder ? await opened.reading([7, 3, 12, 9, 5]) : opened
  })
  afterAll(() => model.close())

  test('the steps follow from each other', async () => {
    const run = await headRun(model, IDS, place)
    const { weights, kvHead } = run
    const project = (letter: 'q' | 'k' | 'v', index: number) => {
      const w = headMatrix(weights, letter, place.head)
      const bias = weights.biases[letter].subarray(index * w.cols, (index + 1) * w.cols)
      const product = multiply(
        { rows: run.read.rows, cols: run.read.width, data: Float64Array.from(run.read.data) },
        w,
      )
      return product.data.map((value, n) => value + bias[n % w.cols]!)
    }
    expect(error(project('q', place.head), run.q.data)).toBeLessThan(1e-5)
    expect(error(project('k', kvHead), run.k.data)).toBeLessThan(1e-5)
    expect(error(project('v', kvHead), run.v.data)).toBeLessThan(1e-5)
    const { scores } = scoreSteps(model.spec, run)
    // ALiBi's own offset of a row is free, so rows are compared through their softmax.
    for (let i = 0; i < IDS.length; i++) {
      const row = scores.subarray(i * IDS.length, (i + 1) * IDS.length)
      expect(error(softmax(row), rowOf(run.pattern, i))).toBeLessThan(1e-5)
    }
    if (!run.spec.alibi) expect(error(scores, run.scores.data)).toBeLessThan(1e-5)
    const output = multiply(
      { rows: run.z.rows, cols: run.z.width, data: Float64Array.from(run.z.data) },
      outputMatrix(weights, place.head),
    )
    expect(error(output.data, run.result.data)).toBeLessThan(1e-5)
    for (const step of headSteps(model.spec, run))
      expect(step.values).toHaveLength(step.shape[0] * step.shape[1])
  })

  test('heads add to the concatenated form', async () => {
    expect(await headsAdd(model, IDS, place.layer)).toBeLessThan(1e-5)
  })

  test('sources add to the update, with norm, cosine and logit effect', async () => {
    const run = await headRun(model, IDS, place)
    const sources = await sourceContributions(model, run, 6, { answer: 6 })
    expect(sum(sources.map(({ alpha }) => alpha))).toBeCloseTo(1, 5)
    expect(sources.slice(7).every(({ norm, cosine }) => norm === 0 && cosine === null)).toBe(true)
    // Σ_j |c_j| cos_j = |Σ_j c_j|, the norm of what the head writes there.
    const along = sum(sources.map(({ norm, cosine }) => norm * (cosine ?? 0)))
    expect(along).toBeCloseTo(Math.hypot(...rowOf(run.result, 6)), 4)
    expect(sources.slice(0, 7).every(({ logit }) => logit !== null)).toBe(true)
  })

  test('effective maps have rank d_head at most; their spectra need no d_model × d_model', async () => {
    const run = await headRun(model, IDS, place)
    const { ov, qk, pattern } = headSpectra(run)
    expect(ov.values).toHaveLength(run.spec.dHead)
    const whole = singularValues(
      multiply(headMatrix(run.weights, 'v', place.head), outputMatrix(run.weights, place.head)),
    )
    expect(error(ov.values, whole.slice(0, run.spec.dHead))).toBeLessThan(1e-7)
    const scores = singularValues(
      multiply(headMatrix(run.weights, 'q', place.head), transpose(headMatrix(run.weights, 'k', place.head))),
    )
    expect(error(qk.values, scores.slice(0, run.spec.dHead))).toBeLessThan(1e-7)
    expect(ov.rank).toBeLessThanOrEqual(run.spec.dHead)
    expect(pattern.rank).toBeGreaterThan(1)
  })

  test('another basis of queries and keys changes no score', async () => {
    const check = await basisCheck(model, await headRun(model, IDS, place))
    expect(check.vectors).toBeLessThan(1e-4)
    expect(check.values).toBeLessThan(1e-4)
    const spec = (await headRun(model, IDS, place)).spec
    expect(check.allowed).toBe(spec.qkNorm ? 'none' : spec.rope === null ? 'any' : 'pairs')
    if (check.allowed === 'none') expect(check.weights).toBeNull()
    else expect(check.weights).toBeLessThan(1e-4)
  })

  test('a score moves its output by α (1 - α) times a distance, most at one half', async () => {
    const run = await headRun(model, IDS, place)
    for (const { alpha, size, away } of scoreReach(run, 6))
      expect(size).toBeCloseTo(alpha * (1 - alpha) * away, 6)
    const [query] = IDS.map((_, i) => i).filter((i) => i === 6)
    expect(scoreReach(run, query!)).toHaveLength(run.spec.window === null ? 7 : Math.min(7, run.spec.window))
    const curve = reachCurve(run, 6, 2)
    const peak = curve.reduce((best, point) => (point.size > best.size ? point : best))
    expect(peak.alpha).toBe(0.5)
    expect(curve[0]!.size).toBe(0)
    expect(curve.at(-1)!.size).toBeCloseTo(0, 12)
  })

  test('variance, entropy and saturation', async () => {
    const run = await headRun(model, IDS, place)
    const { rows, productVariance, scoreVariance } = sharpness(run)
    expect(rows[0]).toMatchObject({ entropy: 0, relative: null, largest: 1 })
    for (const row of rows.slice(1)) {
      expect(row.relative).toBeGreaterThanOrEqual(0)
      expect(row.relative).toBeLessThanOrEqual(1 + 1e-6)
    }
    expect(scoreVariance).toBeCloseTo(productVariance! * run.spec.scoreScale ** 2, 10)
  })

  test('routing gradients, the four paths and their sum', async () => {
    const block = await blockGradients(model, IDS, place.layer, METRIC)
    const spec = model.spec.stacks.at(-1)!.layers[place.layer]!
    const grad = (name: string) => block.grads.get(`blocks.${place.layer}.${name}`)!
    const zero = (): Rows => ({
      data: new Float32Array(IDS.length * model.spec.dModel),
      rows: IDS.length,
      width: model.spec.dModel,
    })
    const shared = { key: new Map<number, Rows>(), value: new Map<number, Rows>() }
    let paths = zero()
    for (let head = 0; head < spec.nHeads; head++) {
      const own = await headGradients(model, block, head)
      const scores = grad('attn.hook_attn_scores').data.subarray(
        head * IDS.length ** 2,
        (head + 1) * IDS.length ** 2,
      )
      expect(error(own.routing.data, scores)).toBeLessThan(2e-4)
      const largest = Math.max(...own.routing.data.map(Math.abs))
      for (let i = 0; i < IDS.length; i++)
        expect(Math.abs(sum(rowOf(own.routing, i)))).toBeLessThan(1e-4 * largest + 1e-12)
      expect(error(own.query.data, headRows(grad('attn.hook_rot_q'), head).data)).toBeLessThan(2e-4)
      if (spec.softcap === null) {
        // The same as a covariance of keys and values under α: c Σ_j α_j (k̃_j - k̄) (v_j - o)·g.
        const run = await headRun(model, IDS, { layer: place.layer, head })
        const covariance = own.query.data.map((_, n) => {
          const [i, d] = [Math.floor(n / run.rotK.width), n % run.rotK.width]
          const alpha = rowOf(run.pattern, i)
          const g = rowOf(own.upstream, i)
          const mean = alpha.reduce((total, a, j) => total + a * rowOf(run.rotK, j)[d]!, 0)
          return alpha.reduce((total, a, j) => {
            const along = rowOf(run.v, j).reduce((s, v, e) => s + g[e]! * (v - rowOf(run.z, i)[e]!), 0)
            return total + spec.scoreScale * a * (rowOf(run.rotK, j)[d]! - mean) * along
          }, 0)
        })
        expect(error(covariance, own.query.data)).toBeLessThan(1e-3)
        const curve = sharpeningCurve(run, 7, rowOf(own.upstream, 7)) // the row that the metric looks at
        const size = Math.hypot(...rowOf(own.routing, 7))
        expect(curve.find(({ factor }) => factor === 1)!.routing).toBeCloseTo(size, 4)
        const last = curve.at(-1)!
        expect(last.entropy).toBeLessThanOrEqual(curve[0]!.entropy)
        // The nearer the largest weight is to 1, the less the row can learn.
        if (last.largest > 0.9999)
          expect(last.routing).toBeLessThan(Math.max(...curve.map(({ routing }) => routing)))
      }
      for (const [path, rows] of [
        ['key', own.key],
        ['value', own.valuePath],
      ] as const) {
        const kv = kvHeadOf(spec, head)
        const before = shared[path].get(kv)
        shared[path].set(kv, before ? addRows(before, rows) : rows)
      }
      for (const path of ['query', 'key', 'value'] as const) paths = addRows(paths, own.atResidual[path])
    }
    for (const [path, hook] of [
      ['key', 'attn.hook_rot_k'],
      ['value', 'attn.hook_v'],
    ] as const)
      for (const [kv, rows] of shared[path])
        expect(error(rows.data, headRows(grad(hook), kv).data)).toBeLessThan(2e-4)
    // Σ over keys of ∂L/∂k̃ = 0 where no cap stands between.
    if (spec.softcap === null)
      for (const rows of shared.key.values()) {
        const largest = Math.max(...rows.data.map(Math.abs))
        for (let d = 0; d < rows.width; d++) {
          const column = Array.from({ length: rows.rows }, (_, j) => rows.data[j * rows.width + d]!)
          expect(Math.abs(sum(column))).toBeLessThan(1e-4 * largest)
        }
      }
    if (spec.parallel) return // the MLP's path is the identity of verify
    const through = spec.norms === 'sum' ? 'hook_attn_out' : 'hook_resid_mid'
    const whole = addRows(paths, rowsOf(grad(through)))
    expect(error(whole.data, grad('hook_resid_pre').data)).toBeLessThan(2e-4)
  })

  test('parameter gradients are what a small change of the weights does', async () => {
    const { layer, head } = place
    const block = await blockGradients(model, IDS, layer, METRIC)
    const run = await headRun(model, IDS, place)
    const grads = parameterGradients(block, run)
    const step = 1e-2
    // A change of one weight, as the change of q, k, v or z W_O that it makes.
    for (const letter of ['q', 'k', 'v'] as const) {
      const gradient = grads[letter]
      const index = gradient.data.reduce(
        (best, value, i) => (Math.abs(value) > Math.abs(gradient.data[best]!) ? i : best),
        0,
      )
      const [row, column] = [Math.floor(index / gradient.cols), index % gradient.cols]
      const values = new Float32Array(IDS.length * gradient.cols)
      for (let pos = 0; pos < IDS.length; pos++)
        values[pos * gradient.cols + column] = rowOf(run.read, pos)[row]!
      const at = letter === 'q' ? { head } : { kv_head: run.kvHead }
      const metric = async (by: number) => {
        const logits = (
          await model.run(IDS, {
            capture: ['logits'],
            edits: [
              {
                hook: `blocks.${layer}.attn.hook_${letter}`,
                ...at,
                op: 'add',
                by,
                from: { values, shape: [1, IDS.length, 1, gradient.cols] },
              },
            ],
          })
        ).get('logits').data
        const from = (IDS.length - 1) * model.spec.dVocab
        return logits[from + METRIC.answer]! - logits[from + METRIC.wrong]!
      }
      const slope = ((await metric(step)) - (await metric(-step))) / (2 * step)
      expect(Math.abs(slope - gradient.data[index]!) / Math.abs(gradient.data[index]!), letter).toBeLessThan(
        0.02,
      )
    }
  })

  test('a nudge does what its gradient says, to first order', async () => {
    // The pair whose weight is nearest to one half: a weight of nearly 0 or 1 moves by less than float noise.
    const run = await headRun(model, IDS, place)
    const pairs = IDS.flatMap((_, query) => scoreReach(run, query).map((pair) => ({ ...pair, query })))
    const at = pairs.reduce((a, b) => (b.alpha * (1 - b.alpha) > a.alpha * (1 - a.alpha) ? b : a))
    const small = await nudge(model, IDS, place, at, 0.01, METRIC)
    const large = await nudge(model, IDS, place, at, 0.1, METRIC)
    expect(small.error).toBeLessThan(0.02)
    expect(large.error!).toBeGreaterThan(small.error!) // what is left is of second order
    await expect(nudge(model, IDS, place, { query: 2, key: 6 }, 0.1, METRIC)).rejects.toThrow('does not see')
  })

  test('a number typed into any step stands there, and what follows is a run of its own', async () => {
    const before = await headRun(model, IDS, place)
    const steps = headSteps(model.spec, before)
    const logitsOf = async (edits: Edit[]) =>
      (await model.run(IDS, { capture: ['logits'], edits })).get('logits').data
    for (const step of steps) {
      if (step.name === 'normed' && !before.weights.norm) continue
      const at = [5, Math.min(3, step.shape[1] - 1)] as const
      const index = at[0] * step.shape[1] + at[1]
      const value = step.name === 'weights' ? 0.9 : step.values[index]! + 0.75
      const edit = await editStep(model, IDS, place, { cells: [cell(step.name, ...at, value)] })
      const after = edit.steps.find(({ name }) => name === step.name)!
      expect(after.values[index], step.name).toBeCloseTo(value, 4)
      // What stands before it is as it was.
      for (const [n, earlier] of steps.slice(0, steps.indexOf(step)).entries()) {
        const numbers = (list: typeof earlier.values) => list.map((one) => one ?? 0)
        expect(error(numbers(edit.steps[n]!.values), numbers(earlier.values)), earlier.name).toBeLessThan(
          1e-5,
        )
      }
      // The weighted values are those of the weights, unless they are what was typed into.
      const { z, pattern, v } = edit.after
      const typed = step.name === 'weighted values'
      const own = multiply(
        { rows: pattern.rows, cols: pattern.width, data: Float64Array.from(pattern.data) },
        { rows: v.rows, cols: v.width, data: Float64Array.from(v.data) },
      )
      if (!typed) expect(error(own.data, z.data), step.name).toBeLessThan(1e-5)
      // The same change of one number as a vector that is added.
      const hook = {
        residual: 'hook_resid_pre',
        'attention adds': 'hook_attn_out',
        'residual after': before.spec.parallel ? 'hook_resid_post' : 'hook_resid_mid',
      }[step.name]
      if (!hook) continue
      const values = new Float32Array(step.shape[1])
      values[at[1]] = 0.75
      const added = await logitsOf([
        { hook: `blocks.1.${hook}`, pos: 5, op: 'add', from: { values, shape: [values.length] } },
      ])
      const row = added.subarray(5 * model.spec.dVocab, 6 * model.spec.dVocab)
      const [best] = edit.predictions.after[5]!.top
      expect(best!.logit).toBeCloseTo(Math.max(...row), 3)
    }
    // Steps together: the later one stands beside what the earlier has made of its neighbours.
    const both = await editStep(model, IDS, place, {
      cells: [cell('residual', 4, 0, 2), cell('weighted values', 6, 1, -1), cell('weights', 6, 2, 0.5)],
    })
    const alone = await editStep(model, IDS, place, { cells: [cell('residual', 4, 0, 2)] })
    expect(both.after.resid.data[4 * model.spec.dModel]).toBeCloseTo(2, 5)
    expect(rowOf(both.after.pattern, 6)[2]).toBeCloseTo(0.5, 6)
    expect(rowOf(both.after.z, 6)[1]).toBeCloseTo(-1, 5)
    expect(error(rowOf(both.after.z, 5), rowOf(alone.after.z, 5))).toBeLessThan(1e-5)
  })

  test('a step that is changed changes what follows, exactly', async () => {
    const same = await editStep(model, IDS, place, {})
    expect(Math.max(...same.moved)).toBeLessThan(1e-4 * Math.max(...same.before.z.data.map(Math.abs)))
    const cold = await editStep(model, IDS, place, { temperature: 0.25 })
    const open = await editStep(model, IDS, place, { noMask: true })
    expect(open.after.pattern.data[7]).toBeGreaterThan(0) // query 0 sees the last key
    const score = 12 + Math.max(...rowOf(same.before.scores, 6))
    const typed = await editStep(model, IDS, place, { typed: [{ query: 6, key: 2, score }] })
    expect(typed.after.pattern.data[6 * IDS.length + 2]).toBeGreaterThan(0.99)
    const { z } = typed.after
    expect(error(rowOf(z, 6), rowOf(typed.before.v, 2))).toBeLessThan(1e-2)
    for (const [edit, changes] of [
      [cold, { temperature: 0.25 }],
      [await editStep(model, IDS, place, { scale: 1 }), { scale: 1 }],
    ] as const) {
      const { scores } = scoreSteps(model.spec, edit.before, changes)
      for (let i = 0; i < IDS.length; i++)
        expect(
          error(rowOf(edit.after.pattern, i), softmax(scores.subarray(i * IDS.length, (i + 1) * IDS.length))),
        ).toBeLessThan(1e-5)
    }
    await expect(editStep(model, IDS, place, { temperature: 0 })).rejects.toThrow('above 0')
    await expect(editStep(model, IDS, place, { cells: [cell('no such', 0, 0, 1)] })).rejects.toThrow(
      'has no step "no such"',
    )
    await expect(editStep(model, IDS, place, { cells: [cell('weights', 0, 8, 1)] })).rejects.toThrow(
      'no cell 0, 8',
    )
    await expect(editStep(model, IDS, { layer: 9, head: 0 }, {})).rejects.toThrow('no layer 9')
  })
})

test('scores typed on the way reach the finished ones through what follows', async () => {
  const model = await openModel(fixture('gemma2-softcap'))
  const place = { layer: 1, head: 1 }
  const { softcap } = (await headRun(model, IDS, place)).spec
  const edit = await editStep(model, IDS, place, { cells: [cell('scores', 5, 2, 3)], temperature: 2 })
  const finished = edit.steps.find(({ name }) => name === 'masked scores')!.values[5 * IDS.length + 2]!
  expect(finished).toBeCloseTo((softcap! * Math.tanh(3 / softcap!)) / 2, 5)
  const capped = await editStep(model, IDS, place, { cells: [cell('capped scores', 5, 2, 1.5)] })
  expect(capped.after.scores.data[5 * IDS.length + 2]).toBeCloseTo(1.5, 6)
  await model.close()
})

test('GPT-3 comes out to the last digit', () => {
  const gpt3 = accounting(GPT3)
  expect(gpt3).toMatchObject({
    head: 6_291_456,
    attentionSublayer: 603_979_776,
    attention: 57_982_058_496,
    mlp: 115_964_116_992,
    embedding: 617_558_016,
    fullValueMap: 150_994_944,
    all: 174_588_899_328,
  })
  const [one, two] = attentionMemory(GPT3, [1024, 2048])
  expect(two!.cacheBytes).toBe(2 * one!.cacheBytes)
  expect(two!.scoreBytes).toBe(4 * one!.scoreBytes)
  expect(one!.cacheBytes).toBe(2 * 96 * 96 * 128 * 1024 * 4)
})

test('accounting of a real checkpoint is its own count', async () => {
  const model = await openModel(fixture('llama-gqa'))
  const { spec, parameters } = model
  const layer = spec.stacks.at(-1)!.layers[0]!
  const counted = accounting({
    layers: spec.stacks.at(-1)!.layers.length,
    dModel: spec.dModel,
    heads: layer.nHeads,
    kvHeads: layer.nKvHeads,
    dHead: layer.dHead,
    dMlp: layer.dMlp,
    gated: layer.gated,
    vocab: spec.dVocab,
    positions: 0,
    tied: spec.tied,
  })
  expect(counted).toMatchObject({
    head: parameters.per_head,
    attention: parameters.attention,
    mlp: parameters.mlp,
    embedding: parameters.embedding,
    unembedding: parameters.unembedding,
  })
  await model.close()
})

function cell(step: string, row: number, column: number, value: number) {
  return { step, row, column, value }
}

test('softmax with a temperature; 0 is the largest, ties to the lowest', () => {
  expect([...softmax([1, 3, 3], 0)]).toEqual([0, 1, 0])
  expect(softmax([0, Math.log(3)])[1]).toBeCloseTo(0.75, 12)
  expect(softmax([0, Math.log(3)], 0.5)[1]).toBeCloseTo(0.9, 12)
  expect(() => softmax([1], -1)).toThrow('0 or more')
})
