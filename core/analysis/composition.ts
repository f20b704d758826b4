/**
 * How much one head's output is read by a later head's query, key or value (Elhage et al. 2021). In: two heads' thin
 * matrices. Out: |X Y|_F / (|X|_F |Y|_F) with X = W_V W_O of the earlier head and Y = W_Q W_Kᵀ (Q), W_K W_Qᵀ (K) or
 * W_V W_O (V) of the later one. Nothing of d_model × d_model is built: with R the root of W_VᵀW_V and S the root of the
 * later head's inner Gram matrix, |X Y|_F = |(R W_O) (W S)|_F. Cost: one product of d_head × d_model × d_head per pair.
 */

import type { Engine } from '../run/engine.ts'
import { throwIfCancelled } from '../run/pass.ts'
import { type HeadWeights, headMatrix, outputMatrix } from './head-weights.ts'
import { gram, gramOfRows, inner, type Matrix, multiply, squareRoot } from './matrix.ts'
import { multiply as product } from './products.ts'

export type CompositionKind = 'q' | 'k' | 'v'

export interface CompositionCell {
  readonly from: { readonly layer: number; readonly head: number }
  readonly to: { readonly layer: number; readonly head: number }
  /** null where a head's map is zero, with the reason. */
  readonly value: number | null
  readonly why?: string
}

export type Composition = Readonly<Record<CompositionKind, readonly CompositionCell[]>>

/** A head as composition sees it. */
interface Side {
  readonly layer: number
  readonly head: number
  /** |W_V W_O| and |W_Q W_Kᵀ|. */
  readonly ov: number
  readonly qk: number
}

interface LayerSides {
  readonly sides: readonly Side[]
  /** R W_O of every head, [head · d_head, d_model]. */
  readonly writes: Float32Array
  /** W S of every head by kind, [d_model, head · d_head]. */
  readonly reads: Readonly<Record<CompositionKind, Float32Array>>
  readonly dHead: number
}

/** Composition of every pair of heads of an earlier and a later layer, as it is done. */
export async function composition(
  engine: Engine,
  layers: readonly HeadWeights[],
  options: {
    fold: boolean
    signal?: AbortSignal | undefined
    onPair?: (done: number, total: number) => void
  },
): Promise<Composition> {
  const prepared = layers.map((weights, layer) => sidesOf(weights, layer, options.fold))
  const cells: Record<CompositionKind, CompositionCell[]> = { q: [], k: [], v: [] }
  const total = (layers.length * (layers.length - 1)) / 2
  let done = 0
  for (let to = 1; to < layers.length; to++)
    for (let from = 0; from < to; from++) {
      throwIfCancelled(options.signal)
      for (const kind of ['q', 'k', 'v'] as const)
        cells[kind].push(...(await between(engine, prepared[from]!, prepared[to]!, kind)))
      options.onPair?.(++done, total)
    }
  return cells
}

// --- Internal helpers ---

function sidesOf(weights: HeadWeights, layer: number, fold: boolean): LayerSides {
  const { nHeads, dHead, dModel } = weights
  const gain = fold ? (weights.norm?.gain ?? null) : null
  const writes = new Float32Array(nHeads * dHead * dModel)
  const reads = {
    q: new Float32Array(dModel * nHeads * dHead),
    k: new Float32Array(dModel * nHeads * dHead),
    v: new Float32Array(dModel * nHeads * dHead),
  }
  const sides = Array.from({ length: nHeads }, (_, head): Side => {
    const q = headMatrix(weights, 'q', head, gain)
    const k = headMatrix(weights, 'k', head, gain)
    const v = headMatrix(weights, 'v', head, gain)
    const o = outputMatrix(weights, head)
    const grams = { q: gram(q), k: gram(k), v: gram(v), o: gramOfRows(o) }
    writes.set(Float32Array.from(multiply(squareRoot(grams.v), o).data), head * dHead * dModel)
    const place = (kind: CompositionKind, read: Matrix) => {
      for (let row = 0; row < dModel; row++)
        for (let d = 0; d < dHead; d++)
          reads[kind][(row * nHeads + head) * dHead + d] = read.data[row * dHead + d]!
    }
    place('q', multiply(q, squareRoot(grams.k)))
    place('k', multiply(k, squareRoot(grams.q)))
    place('v', multiply(v, squareRoot(grams.o)))
    return { layer, head, ov: Math.sqrt(inner(grams.v, grams.o)), qk: Math.sqrt(inner(grams.q, grams.k)) }
  })
  return { sides, writes, reads, dHead }
}

/** All pairs of two layers: one large product, and the norm of each block of it. */
async function between(
  engine: Engine,
  from: LayerSides,
  to: LayerSides,
  kind: CompositionKind,
): Promise<CompositionCell[]> {
  const [rows, columns] = [from.sides.length * from.dHead, to.sides.length * to.dHead]
  const width = from.writes.length / rows
  const all = await product(
    engine,
    { data: from.writes, shape: [1, rows, width] },
    { data: to.reads[kind], shape: [1, width, columns] },
  )
  return from.sides.flatMap((a, i) =>
    to.sides.map((b, j) => {
      const size = a.ov * (kind === 'v' ? b.ov : b.qk)
      let sum = 0
      for (let r = i * from.dHead; r < (i + 1) * from.dHead; r++)
        for (let c = j * to.dHead; c < (j + 1) * to.dHead; c++) sum += all.data[r * columns + c]! ** 2
      return {
        from: { layer: a.layer, head: a.head },
        to: { layer: b.layer, head: b.head },
        ...(size > 0
          ? { value: Math.sqrt(sum) / size }
          : {
              value: null,
              why: `${a.ov > 0 ? (kind === 'v' ? 'the later OV' : 'the later QK') : 'the earlier OV'} map is zero`,
            }),
      }
    }),
  )
}
