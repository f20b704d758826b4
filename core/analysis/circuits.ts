/**
 * Token pairs of a head's circuits. OV: attending to `input` raises the logit of `output` by e W_V W_O u. QK: a query
 * token scores a key token by e W_Q W_Kᵀ e' (at offset 0, scaled). In: a head. Out: the strongest pairs. The norm gains
 * are folded in, statistics are not. Cost: V² d_head multiplications in chunks of rows; memory V d_head, never V × V.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { createBuilder, type Value } from '../graph/builder.ts'
import { encode } from '../graph/encode.ts'
import type { Engine } from '../run/engine.ts'
import type { Model } from '../run/model.ts'
import { throwIfCancelled } from '../run/pass.ts'
import { asFloats, type Feed } from '../run/session.ts'
import { placeAt } from './first-principles/head-run.ts'
import { headMatrix, headWeights, outputMatrix } from './head-weights.ts'
import { type Matrix, transpose } from './matrix.ts'
import { multiply } from './products.ts'
import { linearProblem, readout } from './readout.ts'
import { embeddings, overVocabulary } from './vocabulary.ts'

export interface TokenPair {
  /** OV: the attended token. QK: the query token. */
  readonly input: number
  /** OV: the token whose logit rises. QK: the key token. */
  readonly output: number
  readonly value: number
}

export interface CircuitOptions {
  readonly circuit: 'ov' | 'qk'
  readonly count?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** The strongest pairs of one head, largest value first. Throws `unsupported` where the logits are not linear. */
export async function tokenPairs(
  model: Model,
  place: { readonly layer: number; readonly head: number },
  { circuit, count = 20, signal, onProgress }: CircuitOptions,
): Promise<TokenPair[]> {
  const spec = placeAt(model, place)
  const engine = model.engine()
  const problem = linearProblem(engine)
  if (problem && circuit === 'ov')
    throw new HeadscopeError('unsupported', `Output tokens do not exist here: ${problem}.`)
  const { dVocab } = model.spec
  const weights = await headWeights(engine, place.layer)
  const gain = weights.norm?.gain ?? null
  const inputs = headMatrix(weights, circuit === 'ov' ? 'v' : 'q', place.head, gain)
  const outputs =
    circuit === 'ov'
      ? transpose(outputMatrix(weights, place.head))
      : headMatrix(weights, 'k', place.head, gain)
  const side = new Float32Array(dVocab * spec.dHead) // [d_vocab, d_head]
  await overVocabulary(engine, async (ids, first) => {
    const rows = circuit === 'ov' ? (await readout(engine, ids, 1)).directions : await embeddings(engine, ids)
    side.set(await through(engine, rows, ids.length, outputs), first * spec.dHead)
  })
  const factor = circuit === 'ov' ? spec.residualScale : spec.scoreScale
  let best: TokenPair[] = []
  const started = performance.now()
  await overVocabulary(engine, async (ids, first) => {
    throwIfCancelled(signal)
    const rows = await through(engine, await embeddings(engine, ids), ids.length, inputs)
    for (let from = 0; from < ids.length; from += ROWS) {
      const some = Math.min(ROWS, ids.length - from)
      const part = rows.subarray(from * spec.dHead, (from + some) * spec.dHead)
      const found = await largest(engine, part, some, side, dVocab, spec.dHead, Math.min(count, dVocab))
      best = [
        ...best,
        ...found.map((pair) => ({ ...pair, input: first + from + pair.input, value: pair.value * factor })),
      ]
        .sort((a, b) => b.value - a.value || a.input - b.input || a.output - b.output)
        .slice(0, count)
    }
    const done = Math.min(dVocab, first + ids.length)
    const seconds = (performance.now() - started) / 1000
    onProgress?.({ done, total: dVocab, secondsLeft: (seconds / done) * (dVocab - done) })
  })
  return best
}

// --- Internal helpers ---

/** Rows of products that are in memory at once. */
const ROWS = 256

async function through(
  engine: Engine,
  rows: Float32Array,
  count: number,
  matrix: Matrix,
): Promise<Float32Array> {
  const a = { data: rows, shape: [1, count, matrix.rows] }
  const b = { data: Float32Array.from(matrix.data), shape: [1, matrix.rows, matrix.cols] }
  return (await multiply(engine, a, b)).data
}

/** The largest products of each row, with their places. */
async function largest(
  engine: Engine,
  rows: Float32Array,
  count: number,
  side: Float32Array,
  vocab: number,
  width: number,
  top: number,
): Promise<TokenPair[]> {
  const outputs = await engine.pool.run(
    `token pairs ${top}`,
    () => {
      const g = createBuilder('')
      const out = ['pos', 'd_vocab'] as const
      const product = g.op(
        'FusedMatMul',
        [g.input('rows', 'f32', ['pos', 'd_head']), g.input('side', 'f32', ['d_vocab', 'd_head'])],
        out,
        { domain: 'com.microsoft', attributes: { transA: 0n, transB: 1n, alpha: 1 } },
      )
      const [values, ids] = g.ops('TopK', [product, g.ints([top])], [out, out], {
        attributes: { axis: -1n, largest: 1n, sorted: 1n },
      }) as [Value, Value]
      g.result('top_logits', values)
      g.result('top_ids', ids)
      return encode(g.finish(), ['top_logits', 'top_ids'], engine.weights)
    },
    new Map<string, Feed>([
      ['rows', { data: rows.slice(), shape: [count, width] }],
      ['side', { data: side, shape: [vocab, width] }],
    ]),
  )
  const values = asFloats(outputs.get('top_logits')!).data
  const ids = outputs.get('top_ids')!.data as BigInt64Array
  return Array.from(values, (value, n) => ({ input: Math.floor(n / top), output: Number(ids[n]!), value }))
}
