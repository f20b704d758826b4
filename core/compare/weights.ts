/**
 * Comparing weights, by invariants only. In: two engines of one shape. Out: per head the cosine and relative distance
 * of W_V W_O and of W_Q W_Kᵀ. Raw W_Q, W_K, W_V, W_O mean nothing alone: q → Bq, k → B⁻ᵀk changes them and no score, so
 * asking for them is refused. Cost: both models' head matrices, and Gram matrices of d_head.
 */
import { type HeadWeights, headMatrix, headWeights, outputMatrix } from '../analysis/head-weights.ts'
import { type Matrix, multiply, transpose } from '../analysis/matrix.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { throwIfCancelled } from '../run/pass.ts'
import type { HeadPlace } from './types.ts'

export type Invariant = 'ov' | 'qk'

export interface WeightDistance {
  /** ⟨X, Y⟩ / (|X| |Y|), Frobenius. */
  readonly cosine: number | null
  /** |X − Y| / |X|. */
  readonly distance: number | null
  readonly why?: string
}

export interface ComparedWeights extends HeadPlace {
  readonly ov?: WeightDistance
  readonly qk?: WeightDistance
}

export const WEIGHTS =
  'Cosine and relative Frobenius distance of W_V W_O (`ov`) and W_Q W_Kᵀ (`qk`) of the same head in both checkpoints, norm gains folded in, biases ignored. With rotary positions `qk` holds at offset 0; with norms on queries and keys it does not exist.'

/** `heads` is null, with the reason, where the two have no maps of one space. */
export interface WeightComparison {
  readonly heads: readonly ComparedWeights[] | null
  readonly why?: string
}

/** Throws `bad-request` for raw matrices. */
export async function compareWeights(
  a: Model,
  b: Model,
  wanted: readonly string[],
  signal?: AbortSignal,
): Promise<WeightComparison> {
  const kinds = invariantsOf(wanted)
  const [layersA, layersB] = [decoderOf(a.spec).layers, decoderOf(b.spec).layers]
  const alike =
    a.spec.dModel === b.spec.dModel &&
    layersA.length === layersB.length &&
    layersA.every(({ nHeads }, l) => nHeads === layersB[l]!.nHeads)
  if (!alike)
    return {
      heads: null,
      why: `The weights of ${a.name} and ${b.name} are not compared: their shapes differ, so the maps of their heads act on different spaces; patterns, predictions and matched heads are compared.`,
    }
  const heads: ComparedWeights[] = []
  for (const [layer, { nHeads, qkNorm }] of layersA.entries()) {
    const inA = await headWeights(a.engine(), layer)
    const inB = await headWeights(b.engine(), layer)
    for (let head = 0; head < nHeads; head++) {
      throwIfCancelled(signal)
      const normed = qkNorm !== null || layersB[layer]!.qkNorm !== null
      const entry: { layer: number; head: number; ov?: WeightDistance; qk?: WeightDistance } = { layer, head }
      if (kinds.includes('ov')) entry.ov = distanceOf(circuit(inA, head, 'ov'), circuit(inB, head, 'ov'))
      if (kinds.includes('qk'))
        entry.qk = normed
          ? {
              cosine: null,
              distance: null,
              why: 'queries and keys are normed, so their product is no bilinear map',
            }
          : distanceOf(circuit(inA, head, 'qk'), circuit(inB, head, 'qk'))
      heads.push(entry)
    }
  }
  return { heads }
}

/** The invariants with these names. Throws `bad-request` for anything that depends on a basis. */
export function invariantsOf(names: readonly string[]): Invariant[] {
  return names.map((name) => invariantOf(name.trim()))
}

// --- Internal helpers ---

function invariantOf(name: string): Invariant {
  const short = name.toLowerCase()
  if (short === 'ov' || short === 'qk') return short
  if (/^(w_?)?[qkvo]$/.test(short))
    throw new HeadscopeError(
      'bad-request',
      `${name} depends on the basis inside a head: another basis changes it and no score, so comparing it between checkpoints means nothing; compare ov (W_V W_O) or qk (W_Q W_Kᵀ).`,
    )
  throw new HeadscopeError('bad-request', `${JSON.stringify(name)} is not compared; choose ov or qk.`)
}

/** A map as left · right, [d_model, d_head] · [d_head, d_model]. */
interface Circuit {
  readonly left: Matrix
  readonly right: Matrix
}

function circuit(w: HeadWeights, head: number, kind: Invariant): Circuit {
  const gain = w.norm?.gain ?? null
  if (kind === 'ov') return { left: headMatrix(w, 'v', head, gain), right: outputMatrix(w, head) }
  return { left: headMatrix(w, 'q', head, gain), right: transpose(headMatrix(w, 'k', head, gain)) }
}

function distanceOf(x: Circuit, y: Circuit): WeightDistance {
  const [xx, yy, xy] = [inner(x, x), inner(y, y), inner(x, y)]
  if (!(xx > 0) || !(yy > 0))
    return { cosine: null, distance: null, why: 'the map of one of the two is zero' }
  return {
    cosine: xy / Math.sqrt(xx * yy),
    distance: Math.sqrt(Math.max(0, xx + yy - 2 * xy) / xx),
  }
}

/** ⟨A B, C D⟩ = tr((Cᵀ A)(B Dᵀ)), by d_head × d_head products. */
function inner(x: Circuit, y: Circuit): number {
  const left = multiply(transpose(y.left), x.left) // [d_head, d_head]
  const right = multiply(x.right, transpose(y.right))
  let sum = 0
  const n = left.rows
  const m = left.cols
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) sum += left.data[i * m + j]! * right.data[j * n + i]!
  return sum
}
