/**
 * One head of one real run, taken apart: every tensor that its steps read or make. In: a prompt, a layer, a head. Out:
 * rows by position, float32 as the engine made them; of a head over a source, keys and values by position of the source. Cost: one forward that keeps one block's hooks.
 */
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../../graph/model-spec.ts'
import { RELATIVE_KEY, RELATIVE_QUERY } from '../../graph/relative-bias.ts'
import type { Tensor } from '../../graph/tensor.ts'
import { runSegment, type Variant } from '../../run/engine.ts'
import type { Model } from '../../run/model.ts'
import { asFloats } from '../../run/session.ts'
import type { Edit } from '../../run/types.ts'
import { withResults } from '../graph-values.ts'
import { type HeadWeights, headWeights, requireOneStack } from '../head-weights.ts'
import { type AttentionNames, attentionNames, type HeadPlace } from './attention-place.ts'

export type { HeadPlace }

/** Rows of width numbers, one after the other. */
export interface Rows {
  readonly data: Float32Array
  readonly rows: number
  readonly width: number
}

export interface HeadRun extends HeadPlace {
  readonly ids: readonly number[]
  /** What its keys and values are of: the same ids, or the source's. */
  readonly keyIds: readonly number[]
  readonly names: AttentionNames
  readonly spec: LayerSpec
  /** The key/value head that this head reads. */
  readonly kvHead: number
  readonly weights: HeadWeights
  readonly resid: Rows // [pos, d_model], what enters the attention
  readonly read: Rows // [pos, d_model], what the query projection reads: normed, with gain and bias
  /** What the key and value projections read: the same, or what the encoder handed over [source, d_model]. */
  readonly keyRead: Rows
  readonly q: Rows // [pos, d_head]
  readonly k: Rows // [key, d_head]
  readonly v: Rows // [key, d_head]
  readonly rotQ: Rows // the vectors that meet in the score
  readonly rotK: Rows
  /** T5's bias by distance, which scores hold before the mask [query, key]; null where there is none. */
  readonly distances: Rows | null
  readonly scores: Rows // [query, key], scaled, placed, capped, masked (-∞)
  readonly pattern: Rows // [query, key]
  readonly z: Rows // [pos, d_head], the weighted values
  readonly result: Rows // [pos, d_model], z W_O of this head
  readonly attnOut: Rows // [pos, d_model], what the whole attention adds
  readonly after: Rows // [pos, d_model], the residual after the attention (after the block where it is parallel)
}

/** Throws `bad-request` for a head that is not there; what a run throws. */
export async function headRun(
  model: Model,
  ids: readonly number[],
  place: HeadPlace,
  options: { edits?: readonly Edit[]; tokenTypes?: readonly number[]; signal?: AbortSignal } = {},
): Promise<HeadRun> {
  const spec = layerAt(model, place)
  const { layer, head, cross = false } = place
  const names = attentionNames(spec, cross)
  const own = (name: string) => `${names.kind}.hook_${name}`
  const local = [
    names.before,
    ...['q', 'k', 'v', 'rot_q', 'rot_k', 'attn_scores', 'pattern', 'z', 'result'].map(own),
    names.out,
    names.after,
  ]
  const engine = model.engine()
  const weights = await headWeights(engine, layer, names.kind)
  if (weights.norm) local.push(names.norm)
  const run = await model.run(ids, {
    capture: local.map((name) => blockHook(layer, name)),
    top: 0,
    ...(options.edits ? { edits: options.edits } : {}),
    ...(options.tokenTypes ? { tokenTypes: [options.tokenTypes] } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  const get = (name: string) => run.get(blockHook(layer, name))
  const kvHead = kvHeadOf(spec, head)
  const resid = wholeRows(get(names.before))
  const read = weights.norm ? gained(wholeRows(get(names.norm)), weights.norm) : resid
  return {
    layer,
    head,
    ...(cross ? { cross } : {}),
    ids,
    keyIds: cross ? engine.reads!.ids[0]! : ids,
    names,
    spec,
    kvHead,
    weights,
    resid,
    read,
    keyRead: cross ? wholeRows(engine.reads!.memory) : read,
    q: headRows(get(own('q')), head),
    k: headRows(get(own('k')), kvHead),
    v: headRows(get(own('v')), kvHead),
    rotQ: headRows(get(own('rot_q')), head),
    rotK: headRows(get(own('rot_k')), kvHead),
    distances: cross ? null : await distancesOf(model, layer, head, ids.length),
    scores: squareOf(get(own('attn_scores')), head),
    pattern: squareOf(get(own('pattern')), head),
    z: headRows(get(own('z')), head),
    result: headRows(get(own('result')), head),
    attnOut: wholeRows(get(names.out)),
    after: wholeRows(get(names.after)),
  }
}

/** The layer of a head that can be run on its own. Throws `bad-request`, `unsupported` where a decoder lacks its text. */
export function layerAt(model: Model, place: HeadPlace): LayerSpec {
  requireOneStack(model.spec)
  if (place.cross && !model.engine().reads)
    throw new HeadscopeError(
      'bad-request',
      `Heads of the family ${model.spec.family} look at their own text alone, so there is none over a source; leave cross out.`,
    )
  return placeAt(model, place)
}

/** The layer of a head; of the decoder's where there are two stacks. Throws `bad-request` where there is none. */
export function placeAt(model: Model, { layer, head }: HeadPlace): LayerSpec {
  const { layers } = decoderOf(model.spec)
  const spec = layers[layer]
  if (!Number.isInteger(layer) || !spec)
    throw new HeadscopeError(
      'bad-request',
      `There is no layer ${layer}: layers are 0 to ${layers.length - 1}.`,
    )
  if (!Number.isInteger(head) || head < 0 || head >= spec.nHeads)
    throw new HeadscopeError(
      'bad-request',
      `There is no head ${head}: heads of layer ${layer} are 0 to ${spec.nHeads - 1}.`,
    )
  return spec
}

/** The key/value head that a query head reads. */
export function kvHeadOf({ nHeads, nKvHeads }: LayerSpec, head: number): number {
  return Math.floor((head * nKvHeads) / nHeads)
}

/** Row i. */
export function rowOf({ data, width }: Rows, i: number): Float32Array {
  return data.subarray(i * width, (i + 1) * width)
}

/** One head's rows of [1, pos, heads, width]. */
export function headRows({ data, shape }: Tensor, head: number): Rows {
  const [, rows, heads, width] = shape as [number, number, number, number]
  const own = new Float32Array(rows * width)
  for (let i = 0; i < rows; i++) {
    const from = (i * heads + head) * width
    own.set(data.subarray(from, from + width), i * width)
  }
  return { data: own, rows, width }
}

/** One head's grid of [1, head, query, key]. */
export function squareOf({ data, shape }: Tensor, head: number): Rows {
  const [, , rows, width] = shape as [number, number, number, number]
  return { data: data.slice(head * rows * width, (head + 1) * rows * width), rows, width }
}

/** [1, pos, width]. */
export function wholeRows({ data, shape }: Pick<Tensor, 'data' | 'shape'>): Rows {
  return { data, rows: shape[1]!, width: shape[2]! }
}

/** q̃_i · k̃_j for every pair, float64. */
export function products(queries: Rows, keys: Rows): Float64Array {
  const out = new Float64Array(queries.rows * keys.rows)
  for (let i = 0; i < queries.rows; i++)
    for (let j = 0; j < keys.rows; j++) {
      let sum = 0
      for (let d = 0; d < queries.width; d++)
        sum += queries.data[i * queries.width + d]! * keys.data[j * keys.width + d]!
      out[i * keys.rows + j] = sum
    }
  return out
}

// --- Internal helpers ---

/** The bias by distance of one head, as the block's own graph looks it up. */
async function distancesOf(model: Model, layer: number, head: number, length: number): Promise<Rows | null> {
  if (!decoderOf(model.spec).relative) return null
  const variant: Variant = {
    key: 'distances',
    onPath: [],
    transform: (graph) => {
      const found = [...graph.axes].find(([, axes]) => axes.join() === 'one,head,query,key')
      if (!found) throw new HeadscopeError('internal', 'This block has no bias by distance.')
      return withResults(graph, { distances: found[0] })
    },
  }
  const positions = { data: BigInt64Array.from({ length }, (_, i) => BigInt(i)), shape: [length] }
  const feeds = new Map([
    [RELATIVE_QUERY, positions],
    [RELATIVE_KEY, positions],
  ])
  const outputs = await runSegment(model.engine(), layer, ['distances'], [], feeds, variant)
  const { data, shape } = asFloats(outputs.get('distances')!)
  return squareOf({ data, shape, axes: ['one', 'head', 'query', 'key'] }, head)
}

function gained({ data, rows, width }: Rows, norm: NonNullable<HeadWeights['norm']>): Rows {
  const out = new Float32Array(data.length)
  for (let i = 0; i < data.length; i++)
    out[i] = data[i]! * norm.gain[i % width]! + (norm.bias ? norm.bias[i % width]! : 0)
  return { data: out, rows, width }
}
