/**
 * Direct logit attribution: what each part of the model adds to one token's logit at one position, straight through
 * the residual stream. In: a prompt, an answer, perhaps a wrong answer. Out: components that sum to the logit before
 * the final cap, logit scale included. Cost: one forward that keeps z and MLP outputs, then one row of arithmetic.
 *
 * Each component passes, frozen, through every norm that its sum meets later: the divisor is that of this run, the
 * centring and the gain act on the component, and the norms' biases are a component of their own. Undefined where the
 * logits are no sum over the residual stream (BERT's head).
 *
 * Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../graph/model-spec.ts'
import type { NormWeights } from '../graph/norm.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Dense } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import type { Model } from '../run/model.ts'
import type { Edit } from '../run/types.ts'
import { throughNorm } from './frozen-norm.ts'
import type { AttentionKind } from './graph-values.ts'
import { valueBias } from './head-weights.ts'
import {
  dot,
  finalScaleHook,
  readout,
  readoutProblem,
  throughEmbedding,
  throughOutput,
  uncappedLogits,
} from './readout.ts'

export const DLA_DEFINITION =
  'What each part adds to the logit of the answer (minus that of the wrong answer) at one position, before the final soft-cap: the part, through every later norm with its divisor frozen at this run, times the unembedding. The parts sum to the logit.'

export interface DlaOptions {
  readonly answer: number
  readonly wrong?: number
  /** Position; negative counts from the end; default the last. */
  readonly pos?: number
  readonly tokenTypes?: readonly number[]
  readonly edits?: readonly Edit[]
  /** Values of z that are read in the place of the run's own, [1, pos | 1, head, d_head]; the norms stay the run's. */
  readonly replace?: (layer: number) => Dense
  /** Also per head and source position: what α_j v_j W_O adds. */
  readonly sources?: boolean
  /**
   * b_V reaches the output whatever the pattern, since its rows sum to 1. `heads` leaves it with its head; `bias` counts
   * it with b_O, as TransformerLens does.
   */
  readonly valueBias?: 'heads' | 'bias'
  readonly signal?: AbortSignal
}

export interface DlaComponent {
  /** `embed`, `pos_embed`, `token_type_embed`, `L0H0`, `L0 b_O`, `L0 mlp`, `norm bias`, `unembed bias`. */
  readonly name: string
  readonly layer: number | null
  readonly head: number | null
  readonly value: number
}

export interface DlaSource {
  readonly layer: number
  readonly head: number
  /** By source position. Their sum is the head's component. */
  readonly values: readonly number[]
}

export interface Dla {
  readonly pos: number
  readonly answer: number
  readonly wrong: number | null
  /** Empty where attribution is undefined. */
  readonly components: readonly DlaComponent[]
  readonly sum: number | null
  /** The model's own logit before the final cap (answer minus wrong). */
  readonly logit: number | null
  readonly logit_after_cap: number | null
  readonly sources: readonly DlaSource[]
  /** The same of heads over what an encoder read, by its positions; empty where there is no encoder. */
  readonly cross_sources: readonly DlaSource[]
  /** Why there are no components. */
  readonly why?: string
}

/** Throws `bad-prompt`, `bad-request` or `bad-edit`; a model without linear logits gives no components and a `why`. */
export async function directLogitAttribution(
  model: Model,
  ids: readonly number[],
  options: DlaOptions,
): Promise<Dla> {
  const engine = model.engine()
  const pos = positionOf(options.pos ?? -1, ids.length)
  const wrong = options.wrong ?? null
  checkToken(model, options.answer, 'answer')
  if (wrong !== null) checkToken(model, wrong, 'wrong answer')
  const asked = { pos, answer: options.answer, wrong }
  const problem = readoutProblem(engine)
  if (problem)
    return {
      ...asked,
      components: [],
      sum: null,
      logit: null,
      logit_after_cap: null,
      sources: [],
      cross_sources: [],
      why: problem,
    }

  const captures = await capture(model, ids, options)
  const row = (name: string): Float32Array => {
    const { data, shape } = captures.get(name)!
    const size = data.length / shape[1]!
    return data.subarray(pos * size, (pos + 1) * size)
  }
  const tokens = wrong === null ? [options.answer] : [options.answer, wrong]
  const final = finalScaleHook(engine)
  const read = await readout(engine, tokens, final ? row(final)[0]! : 1)
  const { dModel } = model.spec
  let direction: Float64Array = Float64Array.from(
    { length: dModel },
    (_, d) => read.directions[d]! - (wrong === null ? 0 : read.directions[dModel + d]!),
  )
  const signed = (values: Float64Array) => values[0]! - (wrong === null ? 0 : values[1]!)
  let normBias = signed(read.normBias)
  const blocks: DlaComponent[][] = []
  const sources: DlaSource[] = []
  const crossSources: DlaSource[] = []
  const { layers } = decoderOf(model.spec)
  for (let layer = layers.length - 1; layer >= 0; layer--) {
    const at = (local: string) => row(blockHook(layer, local))
    const norms = layers[layer]!.norms === 'sum' ? engine.model.sumNorms!(layer) : null
    const pass = (weights: NormWeights, scaleHook: string) => {
      const through = throughNorm(model, direction, weights, at(scaleHook)[0]!)
      normBias += through.bias
      direction = through.direction
    }
    if (norms) pass(norms.post, 'ln2.hook_scale')
    const mlp = dot(direction, 0, at('hook_mlp_out'), 0, dModel)
    if (norms?.cross) pass(norms.cross, 'ln_cross.hook_scale')
    const cross = crossComponents(model, layer, direction, captures, at)
    if (options.sources && cross.length > 0) {
      const [output] = await throughOutput(engine, layer, Float32Array.from(direction), 'cross_attn')
      crossSources.unshift(...sourceValues(layer, layers[layer]!, output!, captures, pos, 'cross_attn'))
    }
    if (norms) pass(norms.mid, 'ln1.hook_scale')
    const heads = await attentionComponents(model, layer, direction, at, options, captures, pos)
    normBias += heads.normBias
    sources.unshift(...heads.sources)
    blocks.unshift([...heads.components, ...cross, { name: `L${layer} mlp`, layer, head: null, value: mlp }])
  }
  const scale = captures.has('embed.ln.hook_scale') ? row('embed.ln.hook_scale')[0]! : 1
  const embedding = await throughEmbedding(engine, Float32Array.from(direction), scale)
  normBias += embedding.normBias
  const start = [...embedding.parts].map(([hook, part]) =>
    whole(hook.replace('hook_', ''), dot(part, 0, row(hook), 0, dModel)),
  )
  const components = [
    ...start,
    ...blocks.flat(),
    whole('norm bias', normBias),
    whole('unembed bias', signed(read.unembedBias)),
  ]
  const uncapped = await uncappedLogits(engine, row(blockHook(layers.length - 1, 'hook_resid_post')).slice())
  const difference = (logit: (value: number) => number) =>
    logit(uncapped[options.answer]!) - (wrong === null ? 0 : logit(uncapped[wrong]!))
  const cap = model.spec.logits.softcap
  return {
    ...asked,
    components,
    sum: components.reduce((sum, { value }) => sum + value, 0),
    logit: difference((value) => value),
    logit_after_cap: difference((value) => (cap === null ? value : cap * Math.tanh(value / cap))),
    sources,
    cross_sources: crossSources,
  }
}

// --- Internal helpers ---

function whole(name: string, value: number): DlaComponent {
  return { name, layer: null, head: null, value }
}

async function capture(
  model: Model,
  ids: readonly number[],
  { edits, tokenTypes, sources, signal }: DlaOptions,
): Promise<ReadonlyMap<string, Tensor>> {
  const last = decoderOf(model.spec).layers.length - 1
  const wanted =
    /^(hook_\w*embed|embed\.ln\.hook_scale|ln_final\.hook_scale)$|\.attn\.hook_z$|cross_attn\.hook_result$|hook_mlp_out$/
  const frozen = /ln1_post\.hook_scale$/
  const sums = /ln([12]|_cross)\.hook_scale$/
  const parts = /\.(cross_)?attn\.hook_(pattern|v)$/
  const final = finalScaleHook(model.engine())
  const layerOf = (segment: unknown): LayerSpec | undefined => decoderOf(model.spec).layers[segment as number]
  const names = model.hooks
    .filter(
      ({ name, segment }) =>
        wanted.test(name) ||
        frozen.test(name) ||
        (sources && parts.test(name)) ||
        (layerOf(segment)?.norms === 'sum' && sums.test(name)) ||
        name === final ||
        name === blockHook(last, 'hook_resid_post'),
    )
    .map((hook) => hook.name)
  const run = await model.run(ids, {
    capture: names,
    top: 0,
    ...(edits ? { edits } : {}),
    ...(tokenTypes ? { tokenTypes: [tokenTypes] } : {}),
    ...(signal ? { signal } : {}),
  })
  return new Map(run.captured.map((name) => [name, run.get(name)]))
}

/** Heads, b_O and what a post-norm's bias gives, of one block. */
async function attentionComponents(
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
function crossComponents(
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

/** One position of [1, pos | 1, …]. */
function rowOf({ data, shape }: Dense, pos: number): Float32Array {
  const size = data.length / shape[1]!
  const at = shape[1] === 1 ? 0 : pos
  return data.subarray(at * size, (at + 1) * size)
}

/** α_j (v_j · W_O r) for every head and source position j. */
function sourceValues(
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

function positionOf(pos: number, length: number): number {
  const at = pos < 0 ? length + pos : pos
  if (Number.isInteger(pos) && at >= 0 && at < length) return at
  throw new HeadscopeError(
    'bad-request',
    length === 0
      ? 'The prompt is empty; give at least one token.'
      : `There is no position ${pos}: the prompt has ${length} tokens, numbered 0 to ${length - 1}.`,
  )
}

function checkToken(model: Model, id: number, name: string): void {
  if (Number.isInteger(id) && id >= 0 && id < model.spec.dVocab) return
  throw new HeadscopeError(
    'bad-request',
    `The ${name} ${id} is not a token id of this model (0 to ${model.spec.dVocab - 1}).`,
  )
}
