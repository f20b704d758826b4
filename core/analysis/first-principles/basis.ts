/**
 * Only the product of query and key is identified: q → q B, k → k B⁻ᵀ changes no score. In: a head's run. Out: the
 * largest change of any score of its group when the engine runs with the changed vectors, and with changed weights
 * where the family allows it. One B serves all query heads that share a key head.
 *
 * On the vectors that meet in the score any invertible B works. On the weights a norm of queries and keys forbids it,
 * and rotary positions leave only scaled rotations inside each frequency pair (free on dimensions that are not rotated).
 */
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import { createRandom } from '../../random.ts'
import type { Model } from '../../run/model.ts'
import type { Edit } from '../../run/types.ts'
import { type HeadWeights, headMatrix, outputMatrix } from '../head-weights.ts'
import { inverse, type Matrix, matrix, multiply, transpose } from '../matrix.ts'
import { type HeadPlace, type HeadRun, headRows, headRun, type Rows } from './head-run.ts'

export interface BasisCheck {
  /** Largest |change of a score| over the largest score, with B on the vectors that meet. */
  readonly vectors: number
  /** The same with changed weights and biases; null where the family does not allow it. */
  readonly weights: number | null
  /** The same for values: with v C in the place of v, z C⁻¹ W_O changes by this share of its largest number. */
  readonly values: number
  readonly allowed: 'any' | 'pairs' | 'none'
  readonly why: string
  /** B, [d_head, d_head], as used on the vectors. */
  readonly b: Matrix
}

/** Runs the check with a random B. */
export async function basisCheck(model: Model, run: HeadRun, seed = 1): Promise<BasisCheck> {
  const { spec, layer } = run
  const random = createRandom(seed)
  const b = invertible(spec.dHead, random)
  const allowed = spec.qkNorm || spec.clip !== null ? 'none' : spec.rope === null ? 'any' : 'pairs'
  const group = spec.nHeads / spec.nKvHeads
  const heads = Array.from({ length: group }, (_, i) => run.kvHead * group + i)
  const base = await model.run(run.ids, {
    capture: ['q', 'k', 'rot_q', 'rot_k'].map((name) => blockHook(layer, `${run.names.kind}.hook_${name}`)),
    top: 0,
  })
  const get = (name: string) => base.get(blockHook(layer, `${run.names.kind}.hook_${name}`))
  const width = spec.dHead
  const set = (hook: string, axis: 'head' | 'kv_head', index: number, values: Matrix): Edit => ({
    hook: blockHook(layer, `${run.names.kind}.hook_${hook}`),
    [axis]: index,
    op: 'set',
    from: { values: Float32Array.from(values.data), shape: [1, values.rows, 1, width] },
  })
  const rowsOf = (name: string, head: number) => {
    const { data, rows } = headRows(get(name), head)
    return matrix(rows, width, data)
  }
  const dual = transpose(inverse(b))
  const vectors = await change(model, run, heads, [
    ...heads.map((head) => set('rot_q', 'head', head, multiply(rowsOf('rot_q', head), b))),
    set('rot_k', 'kv_head', run.kvHead, multiply(rowsOf('rot_k', run.kvHead), dual)),
  ])
  const values = await valueChange(model, run, b)
  if (allowed === 'none') return { vectors, weights: null, values, allowed, why: reason(run), b }

  const own = allowed === 'any' ? b : pairwise(model, run, random)
  const ownDual = transpose(inverse(own))
  const { read, keyRead } = run
  const project = (letter: 'q' | 'k', head: number, change: Matrix) =>
    plusBias(
      multiply(
        asMatrix(letter === 'q' ? read : keyRead),
        multiply(headMatrix(run.weights, letter, head), change),
      ),
      multiply(biasOf(run.weights, letter, letter === 'q' ? head : run.kvHead), change),
    )
  const weights = await change(model, run, heads, [
    ...heads.map((head) => set('q', 'head', head, project('q', head, own))),
    set('k', 'kv_head', run.kvHead, project('k', run.head, ownDual)),
  ])
  return { vectors, weights, values, allowed, why: reason(run), b }
}

// --- Internal helpers ---

function placeOf({ layer, head, cross }: HeadRun): HeadPlace {
  return { layer, head, ...(cross ? { cross } : {}) }
}

function asMatrix({ data, rows, width }: Rows): Matrix {
  return matrix(rows, width, data)
}

/** Largest change of a visible score of these heads under the edits, over the largest score. */
async function change(
  model: Model,
  run: HeadRun,
  heads: readonly number[],
  edits: readonly Edit[],
): Promise<number> {
  let largest = 0
  let error = 0
  for (const head of heads) {
    const before = (await headRun(model, run.ids, { ...placeOf(run), head })).scores.data
    const after = (await headRun(model, run.ids, { ...placeOf(run), head }, { edits })).scores.data
    before.forEach((score, n) => {
      if (score === Number.NEGATIVE_INFINITY) return
      largest = Math.max(largest, Math.abs(score))
      error = Math.max(error, Math.abs(after[n]! - score))
    })
  }
  return largest > 0 ? error / largest : error
}

/** v → v C with W_O → C⁻¹ W_O: the engine runs with the changed values, and what the head writes is read back. */
async function valueChange(model: Model, run: HeadRun, c: Matrix): Promise<number> {
  const { layer, head, kvHead, v } = run
  const changed = multiply(matrix(v.rows, v.width, v.data), c)
  const edit: Edit = {
    hook: blockHook(layer, `${run.names.kind}.hook_v`),
    kv_head: kvHead,
    op: 'set',
    from: { values: Float32Array.from(changed.data), shape: [1, v.rows, 1, v.width] },
  }
  const { z } = await headRun(model, run.ids, placeOf(run), { edits: [edit] })
  const written = multiply(
    multiply(matrix(z.rows, z.width, z.data), inverse(c)),
    outputMatrix(run.weights, head),
  )
  let [largest, error] = [0, 0]
  run.result.data.forEach((value, n) => {
    largest = Math.max(largest, Math.abs(value))
    error = Math.max(error, Math.abs(written.data[n]! - value))
  })
  return largest > 0 ? error / largest : error
}

function reason({ spec }: HeadRun): string {
  if (spec.qkNorm)
    return 'queries and keys are normed between their weights and the score, and a norm does not commute with B'
  if (spec.clip !== null) return 'queries and keys are clipped, and a clip does not commute with B'
  if (spec.rope !== null)
    return 'queries and keys are rotated by position between their weights and the score: only scaled rotations inside each frequency pair commute with that'
  return 'nothing stands between the weights and the score, so any invertible B will do'
}

/** A well-conditioned random matrix: the identity plus entries of half that size. */
function invertible(size: number, random: ReturnType<typeof createRandom>): Matrix {
  const made = matrix(size, size)
  for (let i = 0; i < size; i++)
    for (let j = 0; j < size; j++)
      made.data[i * size + j] = (i === j ? 1 : 0) + (random.next() - 0.5) / Math.sqrt(size)
  return made
}

/** Scaled rotations inside each rotated pair, and a free block on what is not rotated. */
function pairwise(model: Model, run: HeadRun, random: ReturnType<typeof createRandom>): Matrix {
  const { dHead, rope } = run.spec
  const { dims, interleaved } = model.spec.ropes[rope!]!
  if (dims > dHead) throw new HeadscopeError('internal', `${dims} rotated dimensions do not fit ${dHead}.`)
  const made = matrix(dHead, dHead)
  for (let pair = 0; pair < dims / 2; pair++) {
    const [a, b] = interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + dims / 2]
    const angle = 2 * Math.PI * random.next()
    const size = 0.5 + random.next()
    made.data[a * dHead + a] = size * Math.cos(angle)
    made.data[b * dHead + b] = size * Math.cos(angle)
    made.data[a * dHead + b] = size * Math.sin(angle)
    made.data[b * dHead + a] = -size * Math.sin(angle)
  }
  const rest = invertible(dHead - dims, random)
  for (let i = 0; i < rest.rows; i++)
    for (let j = 0; j < rest.cols; j++)
      made.data[(dims + i) * dHead + dims + j] = rest.data[i * rest.cols + j]!
  return made
}

function biasOf(weights: HeadWeights, letter: 'q' | 'k', head: number): Matrix {
  const { dHead } = weights
  return matrix(1, dHead, weights.biases[letter].subarray(head * dHead, (head + 1) * dHead))
}

function plusBias(rows: Matrix, bias: Matrix): Matrix {
  return { ...rows, data: rows.data.map((value, n) => value + bias.data[n % rows.cols]!) }
}
