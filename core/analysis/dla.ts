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
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../graph/model-spec.ts'
import type { NormWeights } from '../graph/norm.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import { attentionComponents, crossComponents, sourceValues } from './dla-parts.ts'
import type { Dla, DlaComponent, DlaOptions, DlaSource } from './dla-types.ts'
import { throughNorm } from './frozen-norm.ts'
import {
  dot,
  finalScaleHook,
  readout,
  readoutProblem,
  throughEmbedding,
  throughOutput,
  uncappedLogits,
} from './readout.ts'

export type * from './dla-types.ts'

export const DLA_DEFINITION =
  'What each part adds to the logit of the answer (minus that of the wrong answer) at one position, before the final soft-cap: the part, through every later norm with its divisor frozen at this run, times the unembedding. The parts sum to the logit.'

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
