/**
 * Estimates of every place from one gradient. In: the clean run's values, the corrupt run's, and the gradients there. Out: a
 * cell a place. z, v and MLPs: the difference times the gradient; q and k: with the softmax recomputed.
 */
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Gradients } from '../run/backward.ts'
import type { Model } from '../run/model.ts'
import { keyEffects, queryEffects } from './attribute-softmax.ts'

export type AttributionSite = 'z' | 'mlp_out' | 'q' | 'k' | 'v'

export interface AttributionCell {
  readonly site: AttributionSite
  readonly layer: number
  /** Head (for k and v the key/value head); absent for MLPs. */
  readonly head?: number
  readonly pos: number
  /** Estimated change of the metric from the corrupt run, towards the clean one. */
  readonly estimate: number
  /** Mean |estimate| under GradDrop. */
  readonly dropped?: number
  /** The same change, by an exact run. */
  readonly exact?: number
}

/** Where each site is. */
export const LOCAL: Readonly<Record<AttributionSite, string>> = {
  z: 'attn.hook_z',
  mlp_out: 'hook_mlp_out',
  q: 'attn.hook_rot_q',
  k: 'attn.hook_rot_k',
  v: 'attn.hook_v',
}

/** What the recomputed softmax reads of the corrupt run. */
export const SOFTMAX = ['attn.hook_rot_q', 'attn.hook_rot_k', 'attn.hook_attn_scores', 'attn.hook_pattern']

/** Hooks whose gradients the estimates need. */
export function gradHooks(layers: number, sites: readonly AttributionSite[]): string[] {
  const locals = new Set(
    sites.map((site) => (site === 'q' || site === 'k' ? 'attn.hook_pattern' : LOCAL[site])),
  )
  return Array.from({ length: layers }, (_, layer) =>
    [...locals].map((local) => blockHook(layer, local)),
  ).flat()
}

/** Layer by layer, site by site; within a site position by position, head by head. */
export function estimates(
  model: Model,
  sites: readonly AttributionSite[],
  source: ReadonlyMap<string, Tensor>,
  gradients: Gradients,
): AttributionCell[] {
  return decoderOf(model.spec).layers.flatMap((layer, index) =>
    sites.flatMap((site) => {
      const hook = blockHook(index, LOCAL[site])
      const clean = source.get(hook)!
      if (site === 'q' || site === 'k') return softmaxCells(site, index, layer, clean, gradients)
      return linearCells(site, index, clean, gradients.captures.get(hook)!, gradients.grads.get(hook)!)
    }),
  )
}

// --- Internal helpers ---

/** (a_clean - a_corrupt) · ∂metric/∂a, per position and, where there is one, head. */
function linearCells(
  site: AttributionSite,
  layer: number,
  clean: Tensor,
  corrupt: Tensor,
  grad: Tensor,
): AttributionCell[] {
  const shape = clean.shape
  const heads = shape.length === 4 ? shape[2]! : 1
  const width = shape.at(-1)!
  return Array.from({ length: shape[1]! * heads }, (_, row) => {
    let estimate = 0
    for (let i = row * width; i < (row + 1) * width; i++)
      estimate += (clean.data[i]! - corrupt.data[i]!) * grad.data[i]!
    const pos = Math.floor(row / heads)
    return { site, layer, ...(shape.length === 4 ? { head: row % heads } : {}), pos, estimate }
  })
}

function softmaxCells(
  site: 'q' | 'k',
  layer: number,
  spec: LayerSpec,
  clean: Tensor,
  { captures, grads }: Gradients,
): AttributionCell[] {
  const of = (local: string) => captures.get(blockHook(layer, local))!
  const run = {
    q: of('attn.hook_rot_q').data,
    k: of('attn.hook_rot_k').data,
    scores: of('attn.hook_attn_scores').data,
    pattern: of('attn.hook_pattern').data,
    grad: grads.get(blockHook(layer, 'attn.hook_pattern'))!.data,
  }
  const length = clean.shape[1]!
  const effects =
    site === 'q' ? queryEffects(spec, length, run, clean.data) : keyEffects(spec, length, run, clean.data)
  const heads = clean.shape[2]!
  return Array.from(effects, (estimate, row) => ({
    site,
    layer,
    head: row % heads,
    pos: Math.floor(row / heads),
    estimate,
  }))
}
