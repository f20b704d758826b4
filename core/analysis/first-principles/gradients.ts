/**
 * Gradients through one head of a real block: how it learns where to look. In: a prompt, a metric L, a head. Out:
 *   routing    β_ij = ∂L/∂s_ij = α_ij g_i·(v_j - o_i), with g = ∂L/∂z; each row sums to 0
 *   value      ∂L/∂v_j = Σ_i α_ij g_i
 *   query      ∂L/∂q̃_i = c Σ_j β_ij d_ij k̃_j
 *   key        ∂L/∂k̃_j = c Σ_i β_ij d_ij q̃_i
 * with the family's score scale c and, under a soft-cap, d = 1 - (s/cap)², else 1; and the three paths carried back
 * through rotary, QK-norm, weights and the norm before attention to the residual that enters the block. Of heads over a source
 * queries go back to the residual that their attention reads, keys and values to what the encoder handed over. Cost: a
 * forward, a backward, and three small graphs of one block.
 *
 * Source: the chain rule; see Elhage et al. 2021 for the notation of heads.
 */
import { MEMORY } from '../../graph/cross-attention.ts'
import { differentiate, gradName } from '../../graph/gradients.ts'
import { blockHook } from '../../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../../graph/model-spec.ts'
import type { Tensor } from '../../graph/tensor.ts'
import { backward, type Gradients } from '../../run/backward.ts'
import { runSegment, type Variant } from '../../run/engine.ts'
import { type Metric, resolveMetric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import { createPassFeeds } from '../../run/pass-feeds.ts'
import { stateInput } from '../../run/segments.ts'
import { asFloats, type Feed } from '../../run/session.ts'
import { hookInput, withResults } from '../graph-values.ts'
import { type HeadPlace, headRows, kvHeadOf, layerAt, type Rows, rowOf, squareOf } from './head-run.ts'

export type Path = 'query' | 'key' | 'value'

/** The hook where each path leaves the attention. */
const PATH_HOOKS = { query: 'hook_rot_q', key: 'hook_rot_k', value: 'hook_v' } as const

const RESIDUAL = ['hook_resid_pre', 'hook_resid_post', 'hook_attn_out', 'hook_mlp_out']
const ATTENTION = ['attn_scores', 'rot_q', 'rot_k', 'q', 'k', 'v', 'z', 'result']
const VALUES = ['attn_scores', 'pattern', 'rot_q', 'rot_k', 'q', 'k', 'v', 'z']

export interface BlockGradients {
  readonly layer: number
  /** Of the attention over a source; absent: over the decoder's own text. */
  readonly cross?: boolean
  readonly ids: readonly number[]
  readonly value: number
  readonly grads: Gradients['grads']
  readonly captures: Gradients['captures']
}

export interface HeadGradients extends HeadPlace {
  /** The metric. */
  readonly value: number
  readonly upstream: Rows // g [pos, d_head]
  readonly routing: Rows // β [query, key]
  readonly query: Rows // ∂L/∂q̃ [pos, d_head]
  readonly key: Rows // ∂L/∂k̃ of this head alone [pos, d_head]
  readonly valuePath: Rows // ∂L/∂v of this head alone [pos, d_head]
  /** Each path at what it reads: the residual [pos, d_model], or the source's memory [source, d_model]. */
  readonly atResidual: Readonly<Record<Path, Rows>>
}

/** Forward and backward of one block's attention under a metric. Throws what a metric or a run throws. */
export async function blockGradients(
  model: Model,
  ids: readonly number[],
  layer: number,
  metric: Metric,
  cross = false,
): Promise<BlockGradients> {
  return (await blocksGradients(model, ids, [layer], metric, cross))[0]!
}

/** The same for several blocks in one forward and backward. */
export async function blocksGradients(
  model: Model,
  ids: readonly number[],
  layers: readonly number[],
  metric: Metric,
  cross = false,
): Promise<BlockGradients[]> {
  const kind = cross ? 'cross_attn' : 'attn'
  const hooksOf = (layer: number) => {
    const { parallel } = layerAt(model, { layer, head: 0, cross })
    const local = [
      ...RESIDUAL,
      ...(parallel ? [] : ['hook_resid_mid']),
      ...(cross ? ['hook_cross_attn_out', 'hook_resid_mid_cross'] : []),
      ...ATTENTION.map((name) => `${kind}.hook_${name}`),
    ]
    return local.map((name) => blockHook(layer, name))
  }
  const valuesOf = (layer: number) =>
    ['hook_resid_pre', ...VALUES.map((name) => `${kind}.hook_${name}`)].map((name) => blockHook(layer, name))
  const resolved = resolveMetric(metric, [ids], model.spec.dVocab, model.tokenizer)
  const { value, grads, captures } = await backward(model.engine(), [ids], {
    metric: resolved,
    hooks: layers.flatMap(hooksOf),
    capture: layers.flatMap(valuesOf),
  })
  return layers.map((layer) => ({ layer, ...(cross ? { cross } : {}), ids, value, grads, captures }))
}

/** The named gradients of one head. */
export async function headGradients(
  model: Model,
  block: BlockGradients,
  head: number,
): Promise<HeadGradients> {
  const { layer, cross = false } = block
  const kind = cross ? 'cross_attn' : 'attn'
  const spec = layerAt(model, { layer, head, cross })
  const kvHead = kvHeadOf(spec, head)
  const captured = (name: string) => block.captures.get(blockHook(layer, `${kind}.${name}`))!
  const pattern = squareOf(captured('hook_pattern'), head)
  const scores = squareOf(captured('hook_attn_scores'), head)
  const v = headRows(captured('hook_v'), kvHead)
  const z = headRows(captured('hook_z'), head)
  const rotQ = headRows(captured('hook_rot_q'), head)
  const rotK = headRows(captured('hook_rot_k'), kvHead)
  const upstream = headRows(block.grads.get(blockHook(layer, `${kind}.hook_z`))!, head)
  const routing = routingGradients(pattern, v, z, upstream)
  // Past the cap: what moves the uncapped score.
  const through = routing.data.map((beta, n) => {
    const score = scores.data[n]!
    const slope = spec.softcap === null || beta === 0 ? 1 : 1 - (score / spec.softcap) ** 2
    return beta * slope * spec.scoreScale
  })
  const uncapped = { ...routing, data: through }
  const query = product(uncapped, rotK)
  const key = productTransposed(uncapped, rotQ)
  const valuePath = productTransposed(pattern, upstream)
  const seeds = { query, key, value: valuePath } as const
  const atResidual = Object.fromEntries(
    await Promise.all(
      (['query', 'key', 'value'] as const).map(
        async (path) =>
          [
            path,
            await toResidual(model, block, path, [
              { head: path === 'query' ? head : kvHead, rows: seeds[path] },
            ]),
          ] as const,
      ),
    ),
  ) as Record<Path, Rows>
  return {
    layer,
    head,
    ...(cross ? { cross } : {}),
    value: block.value,
    upstream,
    routing,
    query,
    key,
    valuePath,
    atResidual,
  }
}

/** β_ij = α_ij g_i·(v_j - o_i). */
export function routingGradients(pattern: Rows, v: Rows, o: Rows, upstream: Rows): Rows {
  const data = new Float32Array(pattern.data.length)
  for (let i = 0; i < pattern.rows; i++) {
    const g = rowOf(upstream, i)
    const own = rowOf(o, i).reduce((sum, value, d) => sum + value * g[d]!, 0)
    for (let j = 0; j < pattern.width; j++) {
      const alpha = pattern.data[i * pattern.width + j]!
      if (alpha === 0) continue
      let along = 0
      for (let d = 0; d < v.width; d++) along += v.data[j * v.width + d]! * g[d]!
      data[i * pattern.width + j] = alpha * (along - own)
    }
  }
  return { data, rows: pattern.rows, width: pattern.width }
}

/**
 * Gradients at the vectors of one path, carried back to the residual that enters the block: through rotary and
 * QK-norm, the weights, and the norm before attention with its own statistics (of a source: to its memory). Heads that are
 * not given are 0.
 */
export async function toResidual(
  model: Model,
  block: Pick<BlockGradients, 'layer' | 'cross' | 'ids' | 'captures'>,
  path: Path,
  parts: readonly { readonly head: number; readonly rows: Rows }[],
): Promise<Rows> {
  const { layer, cross = false, ids } = block
  const spec = decoderOf(model.spec).layers[layer]!
  const heads = path === 'query' ? spec.nHeads : spec.nKvHeads
  const ofSource = cross && path !== 'query'
  const length = ofSource ? model.engine().reads!.ids[0]!.length : ids.length
  const seed = new Float32Array(length * heads * spec.dHead)
  for (const { head, rows } of parts)
    for (let pos = 0; pos < rows.rows; pos++) seed.set(rowOf(rows, pos), (pos * heads + head) * spec.dHead)
  const hook = blockHook(layer, `${cross ? 'cross_attn' : 'attn'}.${PATH_HOOKS[path]}`)
  const to = ofSource ? 'memory' : cross ? 'hook_resid_mid' : 'resid'
  return backTo(model, block, hook, { data: seed, shape: [1, length, heads, spec.dHead] }, to)
}

/**
 * A gradient at a hook of the block, carried back to the residual that enters it, to a hook on the way, or to the memory of
 * a source, by what lies between them alone.
 */
export async function backTo(
  model: Model,
  { layer, ids, captures }: Pick<BlockGradients, 'layer' | 'ids' | 'captures'>,
  hook: string,
  seed: { readonly data: Float32Array; readonly shape: readonly number[] },
  to: 'resid' | 'hook_resid_mid' | 'memory' = 'resid',
): Promise<Rows> {
  const engine = model.engine()
  const spec = decoderOf(model.spec).layers[layer]!
  const resid = captures.get(blockHook(layer, 'hook_resid_pre'))!
  const [entry, memory] = [stateInput('resid'), stateInput(MEMORY)]
  const input = to === 'memory' ? memory : entry
  const target = to === 'hook_resid_mid' ? blockHook(layer, to) : input
  const variant: Variant = {
    key: `back from ${hook}`,
    onPath: [],
    transform: (graph) =>
      differentiate(withResults(graph, { seed: hookInput(graph, hook) }), spec, ['seed'], [input]).graph,
  }
  const window = { start: 0, rows: ids.length, keys: ids.length }
  const { reads } = engine
  const given = { ids: [ids], lengths: [ids.length], start: 0, total: ids.length }
  const pass = createPassFeeds(engine, reads ? { ...given, source: reads } : given)
  const none: Feed = { data: new Float32Array(0), shape: [1, spec.nKvHeads, 0, spec.dHead] }
  const feeds = new Map<string, Feed>([
    ...pass.block(spec, window),
    [entry, resid],
    ...(reads ? [[memory, reads.memory] as const] : []),
    [gradName('seed'), seed],
    ['past_k', none],
    ['past_v', none],
  ])
  const outputs = await runSegment(engine, layer, [gradName(target)], [], feeds, variant)
  const { data, shape } = asFloats(outputs.get(gradName(target))!)
  return { data, rows: shape[1]!, width: model.spec.dModel }
}

/**
 * What goes past the attention: ∂L/∂resid_mid in a serial block (∂L/∂resid_mid_cross past the attention over a source),
 * ∂L/∂resid_post in a parallel one; where sums are normed, the gradient before the norm. With the paths of all heads (and the MLP's in a parallel block) it sums to
 * ∂L/∂resid_pre.
 */
export function residualPath(block: BlockGradients, spec: LayerSpec): Rows {
  return rowsOf(block.grads.get(blockHook(block.layer, residualHook(spec, block.cross)))!)
}

/** The hook that `residualPath` reads. */
export function residualHook({ parallel, norms }: LayerSpec, cross = false): string {
  if (cross) return norms === 'sum' ? 'hook_cross_attn_out' : 'hook_resid_mid_cross'
  return parallel ? 'hook_resid_post' : norms === 'sum' ? 'hook_attn_out' : 'hook_resid_mid'
}

/** Sum of two sets of rows. */
export function addRows(a: Rows, b: Rows): Rows {
  return { ...a, data: a.data.map((value, i) => value + b.data[i]!) }
}

/** [1, pos, d_model] as rows. */
export function rowsOf({ data, shape }: Tensor): Rows {
  return { data, rows: shape[1]!, width: shape[2]! }
}

// --- Internal helpers ---

/** Σ_j w_ij x_j. */
function product(w: Rows, x: Rows): Rows {
  const data = new Float32Array(w.rows * x.width)
  for (let i = 0; i < w.rows; i++)
    for (let d = 0; d < x.width; d++) {
      let sum = 0
      for (let j = 0; j < w.width; j++) sum += w.data[i * w.width + j]! * x.data[j * x.width + d]!
      data[i * x.width + d] = sum
    }
  return { data, rows: w.rows, width: x.width }
}

/** Σ_i w_ij x_i. */
function productTransposed(w: Rows, x: Rows): Rows {
  const data = new Float32Array(w.width * x.width)
  for (let j = 0; j < w.width; j++)
    for (let d = 0; d < x.width; d++) {
      let sum = 0
      for (let i = 0; i < w.rows; i++) sum += w.data[i * w.width + j]! * x.data[i * x.width + d]!
      data[j * x.width + d] = sum
    }
  return { data, rows: w.width, width: x.width }
}
