/** Heads over a source, taken apart: queries of the decoder, keys and values of what the encoder handed over. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gradients } from '../../run/gradients-of.ts'
import { type Model, openModel } from '../../run/model.ts'
import { directLogitAttribution } from '../dla.ts'
import { headMatrix, outputMatrix } from '../head-weights.ts'
import { type Matrix, multiply } from '../matrix.ts'
import { addRows, blocksGradients, rowsOf } from './gradients.ts'
import { headRows, type Rows, rowOf } from './head-run.ts'
import {
  basisCheck,
  blockGradients,
  editStep,
  headGradients,
  headRun,
  headSpectra,
  headSteps,
  headsAdd,
  nudge,
  parameterGradients,
  residualPath,
  scoreReach,
  scoreSteps,
  sharpness,
  softmax,
  sourceContributions,
} from './index.ts'

const FIXTURES = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures')
const IDS = [3, 17, 5, 9, 21, 4]
const SOURCE = [7, 3, 12, 9, 5, 8, 2, 11]
const METRIC = { kind: 'logit_diff', answer: 6, wrong: 11 } as const
const place = { layer: 1, head: 1, cross: true }

const asMatrix = ({ data, rows, width }: Rows): Matrix => ({
  rows,
  cols: width,
  data: Float64Array.from(data),
})
const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0)
/** Largest difference over the largest value of b. */
const error = (a: ArrayLike<number>, b: ArrayLike<number>) => {
  expect(a.length).toBe(b.length)
  let [most, worst] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    most = Math.max(most, Math.abs(b[i]!))
    worst = Math.max(worst, Math.abs(a[i]! - b[i]!))
  }
  return most > 0 ? worst / most : worst
}
const cell = (step: string, row: number, column: number, value: number) => ({ step, row, column, value })

describe.each(['t5-gated-untied', 'bart-scaled', 'marian-shared'])('%s', (name) => {
  let whole: Model
  let model: Model
  beforeAll(async () => {
    whole = await openModel(join(FIXTURES, 'encoder-decoder', name))
    model = await whole.reading(SOURCE)
  })
  afterAll(() => whole?.close())

  test('the steps follow from each other, target × source', async () => {
    const run = await headRun(model, IDS, place)
    const memory = (await whole.run(SOURCE, { decoderIds: [IDS], capture: ['encoder.hook_memory'] })).get(
      'encoder.hook_memory',
    )
    expect(error(run.keyRead.data, memory.data)).toBeLessThan(1e-6)
    const project = (letter: 'q' | 'k' | 'v', rows: Rows, index: number) => {
      const w = headMatrix(run.weights, letter, place.head)
      const bias = run.weights.biases[letter].subarray(index * w.cols, (index + 1) * w.cols)
      return multiply(asMatrix(rows), w).data.map((value, n) => value + bias[n % w.cols]!)
    }
    expect(error(project('q', run.read, place.head), run.q.data)).toBeLessThan(1e-5)
    expect(error(project('k', run.keyRead, run.kvHead), run.k.data)).toBeLessThan(1e-5)
    expect(error(project('v', run.keyRead, run.kvHead), run.v.data)).toBeLessThan(1e-5)
    const { scores } = scoreSteps(model.spec, run)
    expect(error(scores, run.scores.data)).toBeLessThan(1e-5)
    for (let i = 0; i < IDS.length; i++) {
      const row = scores.subarray(i * SOURCE.length, (i + 1) * SOURCE.length)
      expect(error(softmax(row), rowOf(run.pattern, i))).toBeLessThan(1e-5)
    }
    expect(error(multiply(asMatrix(run.pattern), asMatrix(run.v)).data, run.z.data)).toBeLessThan(1e-5)
    const written = multiply(asMatrix(run.z), outputMatrix(run.weights, place.head))
    expect(error(written.data, run.result.data)).toBeLessThan(1e-5)
    if (run.spec.norms === 'before')
      expect(error(addRows(run.resid, run.attnOut).data, run.after.data)).toBeLessThan(1e-5)
    const steps = headSteps(model.spec, run)
    const shapes = Object.fromEntries(steps.map((step) => [step.name, [...step.axes, ...step.shape]]))
    const { dModel } = model.spec
    expect(shapes.memory).toEqual(['source', 'd_model', SOURCE.length, dModel])
    expect(shapes.key).toEqual(['source', 'd_head', SOURCE.length, run.spec.dHead])
    expect(shapes.query).toEqual(['pos', 'd_head', IDS.length, run.spec.dHead])
    expect(shapes.weights).toEqual(['query', 'source', IDS.length, SOURCE.length])
    for (const step of steps) {
      expect(step.values).toHaveLength(step.shape[0] * step.shape[1])
      expect(step.values.every((value) => value !== null)).toBe(true) // nothing is hidden
    }
    const scaled = steps.find((step) => step.name === 'scores')!
    expect(scaled.formula).toContain(name.startsWith('t5') ? 's = 1.000' : 's = 0.4082') // T5 has no scale
    expect(steps.some((step) => step.name === 'biased scores')).toBe(false)
  })

  test('heads add, sources add, and their effects are the head’s own', async () => {
    expect(await headsAdd(model, IDS, place.layer, true)).toBeLessThan(1e-5)
    const run = await headRun(model, IDS, place)
    const sources = await sourceContributions(model, run, 4, { answer: 6, wrong: 11 })
    expect(sources).toHaveLength(SOURCE.length)
    expect(sum(sources.map(({ alpha }) => alpha))).toBeCloseTo(1, 5)
    const along = sum(sources.map(({ norm, cosine }) => norm * (cosine ?? 0)))
    expect(along).toBeCloseTo(Math.hypot(...rowOf(run.result, 4)), 4)
    const dla = await directLogitAttribution(model, IDS, { answer: 6, wrong: 11, pos: 4 })
    const own = dla.components.find((part) => part.name === 'L1 cross H1')!
    expect(sum(sources.map(({ logit }) => logit!))).toBeCloseTo(own.value, 4)
  })

  test('ranks, another basis, sharpness, reach', async () => {
    const run = await headRun(model, IDS, place)
    const { ov, pattern } = headSpectra(run)
    expect(ov.rank).toBeLessThanOrEqual(run.spec.dHead)
    expect(pattern.values).toHaveLength(IDS.length)
    expect(pattern.atMost).toBe(IDS.length)
    const check = await basisCheck(model, run)
    expect(check).toMatchObject({ allowed: 'any' })
    for (const part of [check.vectors, check.values, check.weights!]) expect(part).toBeLessThan(1e-4)
    const { rows, scoreVariance, productVariance } = sharpness(run)
    expect(rows).toHaveLength(IDS.length)
    for (const { relative } of rows) expect(relative).toBeLessThanOrEqual(1 + 1e-6)
    expect(scoreVariance).toBeCloseTo(productVariance! * run.spec.scoreScale ** 2, 8)
    const reach = scoreReach(run, 0)
    expect(reach).toHaveLength(SOURCE.length) // the first query sees the whole source
    for (const { alpha, size, away } of reach) expect(size).toBeCloseTo(alpha * (1 - alpha) * away, 6)
  })

  test('routing gradients; queries go back to the residual, keys and values of all layers to the memory', async () => {
    const { layers } = model.spec.stacks.at(-1)!
    const blocks = await blocksGradients(model, IDS, [...layers.keys()], METRIC, true)
    const zero = (rows: number): Rows => ({
      data: new Float32Array(rows * model.spec.dModel),
      rows,
      width: model.spec.dModel,
    })
    let memory = zero(SOURCE.length)
    for (const block of blocks) {
      const spec = layers[block.layer]!
      const grad = (local: string) => block.grads.get(`blocks.${block.layer}.${local}`)!
      let queries = zero(IDS.length)
      for (let head = 0; head < spec.nHeads; head++) {
        const own = await headGradients(model, block, head)
        const size = IDS.length * SOURCE.length
        const scores = grad('cross_attn.hook_attn_scores').data.subarray(head * size, (head + 1) * size)
        expect(error(own.routing.data, scores)).toBeLessThan(2e-4)
        const largest = Math.max(...own.routing.data.map(Math.abs))
        for (let i = 0; i < IDS.length; i++)
          expect(Math.abs(sum(rowOf(own.routing, i)))).toBeLessThan(1e-4 * largest + 1e-12)
        for (const [rows, local] of [
          [own.query, 'hook_rot_q'],
          [own.key, 'hook_rot_k'],
          [own.valuePath, 'hook_v'],
        ] as const)
          expect(error(rows.data, headRows(grad(`cross_attn.${local}`), head).data)).toBeLessThan(2e-4)
        queries = addRows(queries, own.atResidual.query)
        memory = addRows(memory, addRows(own.atResidual.key, own.atResidual.value))
      }
      const through = residualPath(block, spec)
      expect(error(addRows(queries, through).data, rowsOf(grad('hook_resid_mid')).data)).toBeLessThan(2e-4)
    }
    const { grads } = await gradients(whole, [SOURCE], {
      metric: METRIC,
      hooks: ['encoder.hook_memory'],
      decoderIds: [IDS],
    })
    expect(error(memory.data, grads.get('encoder.hook_memory')!.data)).toBeLessThan(2e-4)
  })

  test('parameter gradients and the nudge are what small changes do', async () => {
    const block = await blockGradients(model, IDS, place.layer, METRIC, true)
    const run = await headRun(model, IDS, place)
    const grads = parameterGradients(block, run)
    for (const letter of ['q', 'k', 'v'] as const) {
      const read = letter === 'q' ? run.read : run.keyRead
      const { data, cols } = grads[letter]
      const index = data.reduce((best, value, i) => (Math.abs(value) > Math.abs(data[best]!) ? i : best), 0)
      const [row, column] = [Math.floor(index / cols), index % cols]
      const values = new Float32Array(read.rows * cols)
      for (let i = 0; i < read.rows; i++) values[i * cols + column] = rowOf(read, i)[row]!
      const at = letter === 'q' ? { head: place.head } : { kv_head: run.kvHead }
      const metric = async (by: number) => {
        const from = { values, shape: [1, read.rows, 1, cols] }
        const edit = { hook: `blocks.1.cross_attn.hook_${letter}`, ...at, op: 'add' as const, by, from }
        const { data: logits } = (await model.run(IDS, { capture: ['logits'], edits: [edit] })).get('logits')
        const last = logits.subarray(-model.spec.dVocab)
        return last[METRIC.answer]! - last[METRIC.wrong]!
      }
      const slope = ((await metric(1e-2)) - (await metric(-1e-2))) / 2e-2
      expect(Math.abs(slope / data[index]! - 1), letter).toBeLessThan(0.02)
    }
    const pairs = scoreReach(run, 5).map((pair) => ({ ...pair, query: 5 }))
    const at = pairs.reduce((a, b) => (b.alpha * (1 - b.alpha) > a.alpha * (1 - a.alpha) ? b : a))
    const small = await nudge(model, IDS, place, at, 0.01, METRIC)
    expect(small.error).toBeLessThan(0.02)
    const moved = small.metric.after - small.metric.before
    expect(moved).toBeCloseTo(0.01 * small.beta, 3)
  })

  test('a number typed into any step stands there; into the memory it is an edit of the encoder', async () => {
    const before = await headRun(model, IDS, place)
    const steps = headSteps(model.spec, before)
    for (const step of steps) {
      if (step.name === 'normed' && !before.weights.norm) continue
      const at = [2, Math.min(3, step.shape[1] - 1)] as const
      const index = at[0] * step.shape[1] + at[1]
      const value = step.name === 'weights' ? 0.9 : step.values[index]! + 0.75
      const edit = await editStep(model, IDS, place, { cells: [cell(step.name, ...at, value)] })
      const after = edit.steps.find((one) => one.name === step.name)!
      expect(after.values[index], step.name).toBeCloseTo(value, 4)
      // The blocks below read the memory too, so that the residual is another.
      for (const [n, earlier] of steps.slice(0, steps.indexOf(step)).entries())
        if (step.name !== 'memory')
          expect(error(edit.steps[n]!.values as number[], earlier.values as number[])).toBeLessThan(1e-5)
    }
    const value = before.keyRead.data[2 * model.spec.dModel + 3]! + 1.5
    const typed = await editStep(model, IDS, place, { cells: [cell('memory', 2, 3, value)] })
    const memory = before.keyRead.data.slice()
    memory[2 * model.spec.dModel + 3] = value
    const from = { values: memory, shape: [1, SOURCE.length, model.spec.dModel] }
    const edited = await whole.run(SOURCE, {
      decoderIds: [IDS],
      edits: [{ hook: 'encoder.hook_memory', op: 'set', from }],
    })
    const last = (positions: typeof typed.predictions.after) => positions.at(-1)!.top[0]!
    expect(last(typed.predictions.after).id).toBe(last(edited.items[0]!.positions).id)
    expect(last(typed.predictions.after).logit).toBeCloseTo(last(edited.items[0]!.positions).logit, 4)
    expect(typed.predictions.lossAfter).toBeCloseTo(edited.items[0]!.loss!, 5)
  })

  test('temperature and scale; what cannot be is said in a sentence', async () => {
    const cold = await editStep(model, IDS, place, { temperature: 0.25 })
    const { scores } = scoreSteps(model.spec, cold.before, { temperature: 0.25 })
    for (let i = 0; i < IDS.length; i++) {
      const row = scores.subarray(i * SOURCE.length, (i + 1) * SOURCE.length)
      expect(error(rowOf(cold.after.pattern, i), softmax(row))).toBeLessThan(1e-5)
    }
    await expect(editStep(model, IDS, place, { noMask: true })).rejects.toThrow('no mask to remove')
    const cells = [cell('key', SOURCE.length, 0, 1)]
    await expect(editStep(model, IDS, place, { cells })).rejects.toThrow(`The step key is ${SOURCE.length}`)
    const typed = [{ query: 0, key: SOURCE.length, score: 1 }]
    await expect(editStep(model, IDS, place, { typed })).rejects.toThrow('There is no key 8')
    await expect(headRun(whole, IDS, place)).rejects.toThrow('give that text first')
    expect(() => model.withMemory!({ data: new Float32Array(3), shape: [1, 1, 3] })).toThrow('give as much')
  })
})

test('a model of one text has no head over a source', async () => {
  const model = await openModel(join(FIXTURES, 'transformers', 'llama-gqa'))
  await expect(headRun(model, IDS, place)).rejects.toThrow('there is none over a source')
  await model.close()
})
