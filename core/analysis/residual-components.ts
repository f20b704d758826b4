/**
 * Who wrote a residual: embedding, each head, b_O and MLP of every block before a border, as vectors that sum to it
 * exactly. In: a prompt, a position, a border. Out: vectors [d_model] by name. Where sums are normed, what was written
 * before passes the norm frozen, and its bias is a component. Cost: one forward, heads · layers · d_model numbers.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { NormWeights } from '../graph/norm.ts'
import type { Model } from '../run/model.ts'
import { buildSegment } from '../run/segments.ts'
import type { Edit } from '../run/types.ts'
import { producerOf } from './graph-values.ts'
import { borderHook, norm } from './residual-geometry.ts'

export interface Cell {
  readonly ids: readonly number[]
  readonly pos: number
  /** 0 before block 0 … layers after the last. */
  readonly border: number
  readonly edits?: readonly Edit[]
}

export type Components = ReadonlyMap<string, Float64Array>

/** The vectors that sum to one residual. Throws `unsupported` for an encoder–decoder, `bad-request` for a wrong cell. */
export async function residualComponents(model: Model, cell: Cell): Promise<Components> {
  const { spec } = model
  if (spec.encoderDecoder)
    throw new HeadscopeError(
      'unsupported',
      `The residual stream of the family ${spec.family} is not taken apart: its decoder also reads an encoder.`,
    )
  const { layers } = decoderOf(spec)
  const { ids, pos, border } = cell
  if (!Number.isInteger(border) || border < 0 || border > layers.length)
    throw new HeadscopeError(
      'bad-request',
      `There is no border ${border}: they are numbered 0 to ${layers.length}.`,
    )
  if (!Number.isInteger(pos) || pos < 0 || pos >= ids.length)
    throw new HeadscopeError(
      'bad-request',
      `There is no position ${pos}: the prompt has ${ids.length} tokens, numbered from 0.`,
    )
  const row = await rowsAt(model, cell)
  const family = model.engine().model
  let parts = new Map<string, Float64Array>()
  const add = (name: string, value: Float64Array) => {
    const before = parts.get(name)
    parts.set(name, before ? before.map((old, d) => old + value[d]!) : value)
  }
  const pass = (values: Map<string, Float64Array>, weights: NormWeights, scale: number) => {
    const { gain, bias } = parameters(model, weights)
    const passed = new Map(
      [...values].map(([name, value]) => [name, frozen(value, gain, spec.norm.kind === 'layer', scale)]),
    )
    if (bias) {
      const before = passed.get('norm bias')
      passed.set('norm bias', before ? before.map((old, d) => old + bias[d]!) : bias)
    }
    return passed
  }
  for (const hook of model.hooks.filter(
    ({ segment, name }) => segment === 'embed' && /^hook_\w*embed$/.test(name),
  ))
    add(hook.name.replace('hook_', ''), Float64Array.from(row(hook.name)))
  const first = embeddingNorm(model)
  if (first) parts = pass(parts, first, row('embed.ln.hook_scale')[0]!)

  for (let layer = 0; layer < border; layer++) {
    const own = layers[layer]!
    const at = (name: string) => row(blockHook(layer, name))
    const written = new Map<string, Float64Array>()
    const result = at('attn.hook_result')
    for (let head = 0; head < own.nHeads; head++)
      written.set(
        headName(layer, head),
        Float64Array.from(result.subarray(head * spec.dModel, (head + 1) * spec.dModel)),
      )
    const bias = family.outputBias(layer)
    if (bias) written.set(`L${layer} b_O`, Float64Array.from(model.weight(bias)))
    const given = family.outputNorm
      ? pass(written, family.outputNorm(layer), at('ln1_post.hook_scale')[0]!)
      : written
    for (const [name, value] of given)
      add(
        name,
        value.map((entry) => entry * own.residualScale),
      )
    const norms = own.norms === 'sum' ? family.sumNorms!(layer) : null
    if (norms) parts = pass(parts, norms.mid, at('ln1.hook_scale')[0]!)
    for (const [name, value] of crossWritten(model, layer, row)) add(name, value)
    if (norms?.cross) parts = pass(parts, norms.cross, at('ln_cross.hook_scale')[0]!)
    add(`L${layer} mlp`, Float64Array.from(at('hook_mlp_out')))
    if (norms) parts = pass(parts, norms.post, at('ln2.hook_scale')[0]!)
  }
  return parts
}

export interface Writer {
  readonly name: string
  /** |its part of the change|. */
  readonly norm: number
  /** Its part along the change, over |change|²: the shares of all writers sum to 1. */
  readonly share: number
}

export interface Change {
  /** |b - a|. */
  readonly distance: number
  /** Largest |share| first. */
  readonly writers: readonly Writer[]
  /** Largest entry of (sum of the parts) - (b - a), over the largest entry of the change. */
  readonly error: number
}

/** What wrote the difference between two residuals: of two borders, two positions, or two prompts. */
export async function residualChange(model: Model, from: Cell, to: Cell): Promise<Change> {
  const [before, after] = [await residualComponents(model, from), await residualComponents(model, to)]
  const names = [...new Set([...before.keys(), ...after.keys()])]
  const zero = new Float64Array(model.spec.dModel)
  const parts = names.map((name) => {
    const [a, b] = [before.get(name) ?? zero, after.get(name) ?? zero]
    return { name, value: b.map((entry, d) => entry - a[d]!) }
  })
  const [x, y] = [await residualOf(model, from), await residualOf(model, to)]
  const change = Float64Array.from(y, (value, d) => value - x[d]!)
  const distance = norm(change)
  const sum = new Float64Array(change.length)
  for (const { value } of parts) for (let d = 0; d < sum.length; d++) sum[d]! += value[d]!
  const largest = change.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0)
  const off = sum.reduce((most, entry, d) => Math.max(most, Math.abs(entry - change[d]!)), 0)
  const writers = parts
    .map(({ name, value }) => ({
      name,
      norm: norm(value),
      share:
        distance > 0 ? value.reduce((total, entry, d) => total + entry * change[d]!, 0) / distance ** 2 : 0,
    }))
    .filter((writer) => writer.norm > 0)
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share))
  return { distance, writers, error: largest > 0 ? off / largest : off }
}

// --- Internal helpers ---

/** Rows of every hook that is needed, of one position. */
async function rowsAt(model: Model, { ids, pos, edits, border }: Cell) {
  const { layers } = decoderOf(model.spec)
  const wanted = model.hooks.filter(({ name, segment }) => {
    if (segment === 'embed') return /^hook_\w*embed$|hook_scale$/.test(name)
    if (typeof segment !== 'number' || segment >= border) return false
    if (/attn\.hook_result$|hook_mlp_out$|ln1_post\.hook_scale$/.test(name)) return true
    return layers[segment]!.norms === 'sum' && /ln([12]|_cross)\.hook_scale$/.test(name)
  })
  const rows = new Map<string, Float32Array>()
  await model.run(ids, {
    capture: wanted.map(({ name }) => name),
    top: 0,
    ...(edits ? { edits } : {}),
    onCapture: (name, { data }) => {
      const size = data.length / ids.length
      rows.set(name, data.slice(pos * size, (pos + 1) * size))
    },
  })
  return (name: string) => rows.get(name)!
}

/** What each head over an encoder's text writes, and its b_O; empty where the block has no such heads. */
function crossWritten(
  model: Model,
  layer: number,
  row: (name: string) => Float32Array,
): [string, Float64Array][] {
  const name = blockHook(layer, 'cross_attn.hook_result')
  if (!model.hooks.some((hook) => hook.name === name)) return []
  const result = Float64Array.from(row(name)) // [head, d_model]
  const d = model.spec.dModel
  const bias = model.engine().model.crossOutputBias?.(layer)
  return [
    ...Array.from({ length: result.length / d }, (_, head): [string, Float64Array] => [
      `L${layer} cross H${head}`,
      result.subarray(head * d, (head + 1) * d),
    ]),
    ...(bias
      ? [[`L${layer} cross b_O`, Float64Array.from(model.weight(bias))] as [string, Float64Array]]
      : []),
  ]
}

async function residualOf(model: Model, { ids, pos, border, edits }: Cell): Promise<Float32Array> {
  const hook = borderHook(model.spec, border)
  const run = await model.run(ids, { capture: [hook], top: 0, ...(edits ? { edits } : {}) })
  return run.get(hook).data.slice(pos * model.spec.dModel, (pos + 1) * model.spec.dModel)
}

function parameters(model: Model, weights: NormWeights) {
  const one = model.spec.norm.gainMinusOne ? 1 : 0
  const gain = weights.gain === null ? null : Float64Array.from(model.weight(weights.gain), (g) => g + one)
  return { gain, bias: weights.bias ? Float64Array.from(model.weight(weights.bias)) : null }
}

/** A part of a norm's input through it, the divisor frozen. */
function frozen(
  value: Float64Array,
  gain: Float64Array | null,
  centres: boolean,
  scale: number,
): Float64Array {
  const mean = centres ? value.reduce((sum, entry) => sum + entry, 0) / value.length : 0
  return value.map((entry, d) => ((entry - mean) / scale) * (gain ? gain[d]! : 1))
}

/** Tensors of the embedding's norm, as its graph names them; null where there is none. */
function embeddingNorm(model: Model): NormWeights | null {
  const engine = model.engine()
  const graph = buildSegment(engine.model, 'embed', engine.matrix)
  const node = graph.nodes.find(
    ({ op }) => op === 'LayerNormalization' || op === 'SimplifiedLayerNormalization',
  )
  if (!node) return null
  const tensorOf = (id: string | undefined) => graph.weights.find((weight) => weight.id === id)?.tensor
  const [, gain, bias] = node.inputs
  // Where files hold the gain minus 1, a sum stands between the tensor and the norm.
  const tensor = tensorOf(gain) ?? tensorOf(producerOf(graph, gain!)?.inputs[0])
  const shift = tensorOf(bias)
  return { gain: tensor ?? null, ...(shift ? { bias: shift } : {}) }
}
