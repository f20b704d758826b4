/**
 * Parts of a block in direct logit attribution. In: what is read off the residual stream behind them, and the run's
 * captures. Out: heads, biases, and heads by source position. Costs one row of arithmetic each.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Dense } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import type { Model } from '../run/model.ts'
import type { DlaComponent, DlaOptions, DlaSource } from './dla-types.ts'
import { throughNorm } from './frozen-norm.ts'
import type { AttentionKind } from './graph-values.ts'
import { valueBias } from './head-weights.ts'
import { dot, throughOutput } from './readout.ts'

/** Heads, b_O and what a post-norm's bias gives, of one block. */
export async function attentionComponents(
  model: Model,
  layer: number,
  direction: Float64Array,
  at: (local: string) => Float32Array,
  options: DlaOptions,
  captures: ReadonlyMap<string, Tensor>,
  pos: number,
) {
  const engine: Engine = model.engine()
  const spec = decoderOf(model.spec).layers[layer]!
  let read: Float64Array = direction.map((value) => value * spec.residualScale)
  let normBias = 0
  if (engine.model.outputNorm) {
    const through = throughNorm(model, read, engine.model.outputNorm(layer), at('ln1_post.hook_scale')[0]!)
    normBias = through.bias
    read = through.direction
  }
  const [output] = await throughOutput(engine, layer, Float32Array.from(read))
  const { nHeads, nKvHeads, dHead } = spec
  const z = options.replace ? rowOf(options.replace(layer), pos) : at('attn.hook_z')
  const values = Array.from({ length: nHeads }, (_, head) =>
    dot(z, head * dHead, output!, head * dHead, dHead),
  )
  const biasName = engine.model.outputBias(layer)
  let bias = biasName ? dot(read, 0, model.weight(biasName), 0, read.length) : 0
  if (options.valueBias === 'bias') {
    const b = await valueBias(engine, layer) // [kv_head, d_head]
    if (spec.clip !== null && b.some((value) => value !== 0))
      throw new HeadscopeError(
        'bad-request',
        'Values of this model are clipped after their bias, so b_V is no part of its own; leave it with its head.',
      )
    for (let head = 0; head < nHeads; head++) {
      const shared = Math.floor((head * nKvHeads) / nHeads)
      const part = dot(b, shared * dHead, output!, head * dHead, dHead)
      values[head]! -= part
      bias += part
    }
  }
  const components: DlaComponent[] = [
    ...values.map((value, head) => ({ name: headName(layer, head), layer, head, value })),
    { name: `L${layer} b_O`, layer, head: null, value: bias },
  ]
  const sources = options.sources ? sourceValues(layer, spec, output!, captures, pos) : []
  return { components, normBias, sources }
}

/** Heads and b_O of the attention over what an encoder read; none where there is no encoder. */
export function crossComponents(
  model: Model,
  layer: number,
  direction: Float64Array,
  captures: ReadonlyMap<string, Tensor>,
  at: (local: string) => Float32Array,
): DlaComponent[] {
  if (!captures.has(blockHook(layer, 'cross_attn.hook_result'))) return []
  const result = at('cross_attn.hook_result') // [head, d_model]
  const d = direction.length
  const bias = model.engine().model.crossOutputBias?.(layer)
  const part = (name: string, value: number) => ({
    name: `L${layer} cross ${name}`,
    layer,
    head: null,
    value,
  })
  return [
    ...Array.from({ length: result.length / d }, (_, head) =>
      part(`H${head}`, dot(direction, 0, result, head * d, d)),
    ),
    ...(bias ? [part('b_O', dot(direction, 0, model.weight(bias), 0, d))] : []),
  ]
}

/** α_j (v_j · W_O r) for every head and source position j. */
export function sourceValues(
  layer: number,
  { nHeads, nKvHeads, dHead }: LayerSpec,
  output: Float32Array,
  captures: ReadonlyMap<string, Tensor>,
  pos: number,
  kind: AttentionKind = 'attn',
): DlaSource[] {
  const pattern = captures.get(blockHook(layer, `${kind}.hook_pattern`))! // [1, head, query, key]
  const v = captures.get(blockHook(layer, `${kind}.hook_v`))!.data // [1, pos, kv_head, d_head]
  const [, , queries, keys] = pattern.shape as [number, number, number, number]
  return Array.from({ length: nHeads }, (_, head) => {
    const shared = Math.floor((head * nKvHeads) / nHeads)
    return {
      layer,
      head,
      values: Array.from({ length: keys }, (_, key) => {
        const weight = pattern.data[(head * queries + pos) * keys + key]!
        return weight * dot(v, (key * nKvHeads + shared) * dHead, output, head * dHead, dHead)
      }),
    }
  })
}

// --- Internal helpers ---

/** One position of [1, pos | 1, …]. */
function rowOf({ data, shape }: Dense, pos: number): Float32Array {
  const size = data.length / shape[1]!
  const at = shape[1] === 1 ? 0 : pos
  return data.subarray(at * size, (at + 1) * size)
}
