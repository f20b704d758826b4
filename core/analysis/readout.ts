/**
 * How the end of a model reads its last residual, with norms frozen. In: token ids and the divisor of the final norm.
 * Out: for each token the direction r and the constants with
 *   logit before the cap = r · x + norm bias + unembedding bias      (logit scale included)
 * for the residual x that has this divisor. Also the same through a block's output projection and the embedding.
 * One row of the unembedding per token is read, never the matrix. Undefined where the head is not linear (BERT).
 */
import { HeadscopeError } from '../errors.ts'
import { createBuilder, type Graph } from '../graph/builder.ts'
import { encode } from '../graph/encode.ts'
import { differentiate, gradName } from '../graph/gradients.ts'
import { UNEMBED_OUT } from '../graph/hook-names.ts'
import { slotInput } from '../graph/splice.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from '../run/engine.ts'
import { buildSegment, stateInput } from '../run/segments.ts'
import { asFloats, type Feed } from '../run/session.ts'
import {
  type AttentionKind,
  ancestor,
  hookInput,
  isWeightProduct,
  localHook,
  producerOf,
  withResults,
} from './graph-values.ts'

export interface Readout {
  /** [n, d_model] */
  readonly directions: Float32Array
  /** What the bias of the final norm gives each token. */
  readonly normBias: Float64Array
  /** What the bias of the unembedding gives each token. */
  readonly unembedBias: Float64Array
}

const HEAD_IN = 'unembed.hook_in'

/** Why the logits are no linear function of the normed residual; null where they are. */
export function linearProblem(engine: Engine): string | null {
  const { family, headTransform } = engine.model.spec
  return headTransform
    ? `the logits of the family ${family} stand behind a dense layer with an activation, so they are no sum over the residual stream`
    : null
}

/** Why the parts of a run do not sum to its logits; null where they do. */
export function readoutProblem(engine: Engine): string | null {
  const { family, encoderDecoder } = engine.model.spec
  const problem = linearProblem(engine)
  if (problem) return problem
  if (encoderDecoder)
    return `decoders of the family ${family} also read an encoder, so what they add depends on its text: give that first (model.reading)`
  return null
}

/** Hook of the final norm's divisor; null where the model has no final norm. */
export function finalScaleHook(engine: Engine): string | null {
  const hook = engine.hooks.find(({ segment, name }) => segment === 'unembed' && name.endsWith('hook_scale'))
  return hook?.name ?? null
}

/**
 * Directions of tokens at the last residual. `scale` is the divisor of the final norm (1 gives the gain and the
 * centring alone); ignored without a final norm. Throws `unsupported` under a non-linear head.
 */
export async function readout(engine: Engine, tokens: readonly number[], scale: number): Promise<Readout> {
  const problem = linearProblem(engine)
  if (problem) throw new HeadscopeError('unsupported', `Attribution does not exist here: ${problem}.`)
  const { spec } = engine.model
  const n = tokens.length
  const matrix = await weightRows(engine, engine.matrix, tokens)
  const factor = spec.logits.scale
  const width = matrix.shape[1]!
  const seeds: Feed = { data: matrix.data, shape: [1, n, width] }
  const norm = finalScaleHook(engine)
  const slots = norm ? [{ hook: norm, kind: 'set' as const }] : []
  const frozen = new Map<string, Feed>([
    [slotInput(0, 'value'), { data: Float32Array.of(scale), shape: [1, 1, 1] }],
    [slotInput(0, 'mask'), { data: Uint8Array.of(1), shape: [1, 1, 1] }],
  ])
  const input = stateInput('resid')
  const back: Variant = {
    key: 'readout',
    onPath: [],
    transform: (graph) => {
      const ended = withResults(graph, { head_in: hookInput(graph, HEAD_IN) })
      return differentiate(ended, null, ['head_in'], [input]).graph
    },
  }
  const zeros: Feed = { data: new Float32Array(n * spec.dModel), shape: [1, n, spec.dModel] }
  const feeds = new Map<string, Feed>([...frozen, [input, zeros], [gradName('head_in'), seeds]])
  const outputs = await runSegment(engine, 'unembed', [gradName(input), HEAD_IN], slots, feeds, back)
  const directions = asFloats(outputs.get(gradName(input))!).data
  const atZero = asFloats(outputs.get(HEAD_IN)!).data
  const bias = await unembedBias(engine, tokens)
  return {
    directions: factor === 1 ? directions : directions.map((value) => value * factor),
    normBias: Float64Array.from(
      tokens,
      (_, i) => factor * dot(atZero, i * width, matrix.data, i * width, width),
    ),
    unembedBias: Float64Array.from(tokens, (_, i) => factor * bias[i]!),
  }
}

/** Rows of a matrix of the checkpoint [n, width], through the runtime's own mapping of the file. */
export async function weightRows(
  engine: Engine,
  tensor: string,
  rows: readonly number[],
): Promise<{ data: Float32Array; shape: readonly number[] }> {
  const outputs = await engine.pool.run(
    `rows ${tensor}`,
    () => {
      const g = createBuilder('')
      const ids = g.input('ids', 'i64', ['pos'])
      const matrix = g.weight(tensor, ['d_vocab', 'd_model'])
      // A bias over the vocabulary may be stored as one row (BART).
      const axis = engine.weights.tensors.get(tensor)!.shape[0] === 1 ? 1n : 0n
      g.result('rows', g.op('Gather', [matrix, ids], ['pos', 'd_model'], { attributes: { axis } }))
      return encode(g.finish(), ['rows'], engine.weights)
    },
    new Map([['ids', { data: BigInt64Array.from(rows, BigInt), shape: [rows.length] }]]),
  )
  return asFloats(outputs.get('rows')!)
}

/** Logit of one position before the final cap, [d_vocab], from a residual [d_model]. */
export async function uncappedLogits(engine: Engine, resid: Float32Array): Promise<Float32Array> {
  const variant: Variant = {
    key: 'uncapped',
    onPath: [],
    transform: (graph) => {
      let id = hookInput(graph, UNEMBED_OUT)
      if (engine.model.spec.logits.softcap !== null)
        id = ancestor(graph, ancestor(graph, id, (node) => node.op === 'Tanh').inputs[0]!, () => true)
          .inputs[0]!
      return withResults(graph, { uncapped: id })
    },
  }
  const feeds = new Map<string, Feed>([[stateInput('resid'), { data: resid, shape: [1, 1, resid.length] }]])
  return asFloats((await runSegment(engine, 'unembed', ['uncapped'], [], feeds, variant)).get('uncapped')!)
    .data
}

/**
 * W_O^h r for every head of a block: readouts [n, d_model] → [n][head · d_head + d], so that a head's contribution to
 * readout i is z_h · (its part of row i).
 */
export async function throughOutput(
  engine: Engine,
  layer: number,
  readouts: Float32Array,
  at: AttentionKind = 'attn',
): Promise<Float32Array[]> {
  const { dModel } = engine.model.spec
  const n = readouts.length / dModel
  const columns = new Float32Array(readouts.length)
  for (let i = 0; i < n; i++) for (let d = 0; d < dModel; d++) columns[d * n + i] = readouts[i * dModel + d]!
  const variant: Variant = {
    key: `through output ${at}`,
    onPath: [],
    transform: (graph) => {
      const node = {
        op: 'MatMul',
        domain: '' as const,
        inputs: [outputWeights(graph, at), 'readouts'],
        outputs: ['read'],
        attributes: {},
      }
      return {
        ...withResults(graph, { read: 'read' }),
        nodes: [...graph.nodes, node],
        inputs: [...graph.inputs, { name: 'readouts', dtype: 'f32' as const, rank: 2 }],
      }
    },
  }
  const feeds = new Map<string, Feed>([['readouts', { data: columns, shape: [dModel, n] }]])
  const read = asFloats((await runSegment(engine, layer, ['read'], [], feeds, variant)).get('read')!).data
  const size = read.length / n // head · d_head
  return Array.from({ length: n }, (_, i) => Float32Array.from({ length: size }, (_, j) => read[j * n + i]!))
}

/** The value [head, d_head, d_model] of a block's graph that hook_result multiplies z with. */
export function outputWeights(graph: Graph, at: AttentionKind): string {
  const result = hookInput(graph, localHook(graph, `${at}.hook_result`))
  return ancestor(graph, result, (node) => node.op === 'MatMul').inputs[1]!
}

/**
 * A direction at block 0's input, read by each part of the embedding at one position: by hook name (`hook_embed`, …),
 * and what the embedding's norm bias gives. `scale` is the divisor of that norm at this position.
 */
export async function throughEmbedding(
  engine: Engine,
  direction: Float32Array,
  scale: number,
): Promise<{ readonly parts: ReadonlyMap<string, Float32Array>; readonly normBias: number }> {
  const hooks = engine.hooks.filter((hook) => hook.segment === 'embed' && /^hook_\w*embed$/.test(hook.name))
  const norm = engine.hooks.find((hook) => hook.segment === 'embed' && hook.name.endsWith('hook_scale'))
  if (!norm) return { parts: new Map(hooks.map(({ name }) => [name, direction])), normBias: 0 }
  // Every part of the embedding is set to 0: what is left is the norm's bias, and directions do not depend on it.
  const slots = [norm, ...hooks].map(({ name }) => ({ hook: name, kind: 'set' as const }))
  const one: Feed = { data: Uint8Array.of(1), shape: [1, 1, 1] }
  const feeds = new Map<string, Feed>([
    [gradName('resid'), { data: direction, shape: [1, 1, direction.length] }],
    ...(['ids', 'positions', 'token_types'] as const).map(
      (name) => [name, { data: BigInt64Array.of(0n), shape: [1, 1] }] as const,
    ),
  ])
  slots.forEach((_, n) => {
    feeds.set(slotInput(n, 'value'), { data: Float32Array.of(n === 0 ? scale : 0), shape: [1, 1, 1] })
    feeds.set(slotInput(n, 'mask'), one)
  })
  const forward = segmentGraph(engine, 'embed', slots)
  const sources = hooks.map(({ name }) => forward.hooks.find((hook) => hook.name === name)!.output)
  const variant: Variant = {
    key: 'through embedding',
    onPath: [],
    transform: (graph) => differentiate(graph, null, ['resid'], sources).graph,
  }
  const outputs = await runSegment(
    engine,
    'embed',
    ['resid', ...hooks.map(({ name }) => gradName(name))],
    slots,
    feeds,
    variant,
  )
  const parts = new Map(hooks.map(({ name }) => [name, asFloats(outputs.get(gradName(name))!).data] as const))
  const atZero = asFloats(outputs.get('resid')!).data
  return { parts, normBias: dot(atZero, 0, direction, 0, direction.length) }
}

/** Σ a[from + i] b[at + i] in float64. */
export function dot(
  a: ArrayLike<number>,
  from: number,
  b: ArrayLike<number>,
  at: number,
  count: number,
): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += a[from + i]! * b[at + i]!
  return sum
}

// --- Internal helpers ---

/** The unembedding's bias for each token; zeros where there is none. */
async function unembedBias(engine: Engine, tokens: readonly number[]): Promise<ArrayLike<number>> {
  const graph = buildSegment(engine.model, 'unembed', engine.matrix)
  const product = ancestor(graph, hookInput(graph, UNEMBED_OUT), isWeightProduct(graph))
  const sum = graph.nodes.find((node) => node.op === 'Add' && producerOf(graph, node.inputs[0]!) === product)
  const use = graph.weights.find((weight) => weight.id === sum?.inputs[1])
  return use ? (await weightRows(engine, use.tensor, tokens)).data : tokens.map(() => 0)
}
