/**
 * One head of one real run, taken apart: every tensor that its steps read or make. In: a prompt, a layer, a head. Out:
 * rows by position, float32 as the engine made them. Cost: one forward that keeps one block's hooks.
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

export interface HeadPlace {
  readonly layer: number
  readonly head: number
}

/** Rows of width numbers, one after the other. */
export interface Rows {
  readonly data: Float32Array
  readonly rows: number
  readonly width: number
}

export interface HeadRun extends HeadPlace {
  readonly ids: readonly number[]
  readonly spec: LayerSpec
  /** The key/value head that this head reads. */
  readonly kvHead: number
  readonly weights: HeadWeights
  readonly resid: Rows // [pos, d_model], what enters the block
  readonly read: Rows // [pos, d_model], what the projections read: normed, with gain and bias
  readonly q: Rows // [pos, d_head]
  readonly k: Rows
  readonly v: Rows
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
  const { layer, head } = place
  const after = spec.parallel ? 'hook_resid_post' : 'hook_resid_mid'
  const local = [
    'hook_resid_pre',
    'attn.hook_q',
    'attn.hook_k',
    'attn.hook_v',
    'attn.hook_rot_q',
    'attn.hook_rot_k',
    'attn.hook_attn_scores',
    'attn.hook_pattern',
    'attn.hook_z',
    'attn.hook_result',
    'hook_attn_out',
    after,
  ]
  const engine = model.engine()
  const weights = await headWeights(engine, layer)
  if (weights.norm) local.push('ln1.hook_normalized')
  const run = await model.run(ids, {
    capture: local.map((name) => blockHook(layer, name)),
    top: 0,
    ...(options.edits ? { edits: options.edits } : {}),
    ...(options.tokenTypes ? { tokenTypes: [options.tokenTypes] } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  const get = (name: string) => run.get(blockHook(layer, name))
  const kvHead = kvHeadOf(spec, head)
  const resid = wholeRows(get('hook_resid_pre'))
  return {
    layer,
    head,
    ids,
    spec,
    kvHead,
    weights,
    resid,
    read: weights.norm ? gained(wholeRows(get('ln1.hook_normalized')), weights.norm) : resid,
    q: headRows(get('attn.hook_q'), head),
    k: headRows(get('attn.hook_k'), kvHead),
    v: headRows(get('attn.hook_v'), kvHead),
    rotQ: headRows(get('attn.hook_rot_q'), head),
    rotK: headRows(get('attn.hook_rot_k'), kvHead),
    distances: await distancesOf(model, layer, head, ids.length),
    scores: squareOf(get('attn.hook_attn_scores'), head),
    pattern: squareOf(get('attn.hook_pattern'), head),
    z: headRows(get('attn.hook_z'), head),
    result: headRows(get('attn.hook_result'), head),
    attnOut: wholeRows(get('hook_attn_out')),
    after: wholeRows(get(after)),
  }
}

/** The layer of a head that can be run on its own. Throws `bad-request`, `unsupported` where a decoder lacks its text. */
export function layerAt(model: Model, place: HeadPlace): LayerSpec {
  requireOneStack(model.spec)
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

/** One head's square of [1, head, query, key]. */
export function squareOf({ data, shape }: Tensor, head: number): Rows {
  const [, , rows, width] = shape as [number, number, number, number]
  return { data: data.slice(head * rows * width, (head + 1) * rows * width), rows, width }
}

/** [1, pos, width]. */
export function wholeRows({ data, shape }: Tensor): Rows {
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
