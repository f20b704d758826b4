/**
 * The matrices of one block's heads, exactly as its graph uses them, whatever the file's layout: fused, sliced, grouped,
 * either way round. In: a layer. Out: W_Q, W_K, W_V [d_model, heads · d_head] and W_O [heads · d_head, d_model], biases,
 * and the gain of the norm before them. Read by sending the identity through the block's own projection, which is exact
 * in float32; cost d_model² · heads · d_head multiplications and as much memory as the matrices.
 */

import { HeadscopeError } from '../errors.ts'
import type { Graph } from '../graph/builder.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from '../run/engine.ts'
import { asFloats, type Feed } from '../run/session.ts'
import {
  type AttentionKind,
  ancestor,
  hookInput,
  isWeightProduct,
  localHook,
  producerOf,
  unhooked,
  withResults,
} from './graph-values.ts'
import { type Matrix, matrix } from './matrix.ts'
import { outputWeights } from './readout.ts'

type Letter = 'q' | 'k' | 'v'

export interface HeadWeights {
  readonly nHeads: number
  readonly nKvHeads: number
  readonly dHead: number
  readonly dModel: number
  readonly q: Float32Array // [d_model, head, d_head]
  readonly k: Float32Array // [d_model, kv_head, d_head]
  readonly v: Float32Array // [d_model, kv_head, d_head]
  readonly o: Float32Array // [head, d_head, d_model]
  readonly biases: { readonly q: Float32Array; readonly k: Float32Array; readonly v: Float32Array }
  /** Gain and bias of the norm that the projections read; null where they read the residual itself. */
  readonly norm: { readonly gain: Float32Array; readonly bias: Float32Array | null } | null
  /** Keys and values are made from the encoder's text: the norm above is the queries' alone. */
  readonly readsText: boolean
}

/** The heads' matrices of one block of the decoder; `at` says which of its attentions. */
export async function headWeights(
  engine: Engine,
  layer: number,
  at: AttentionKind = 'attn',
): Promise<HeadWeights> {
  const spec = decoderOf(engine.model.spec).layers[layer]!
  const [q, k, v] = await Promise.all(
    (['q', 'k', 'v'] as const).map((letter) => projection(engine, layer, letter, at)),
  )
  const output: Variant = {
    key: `weights o ${at}`,
    onPath: [],
    transform: (graph) => withResults(graph, { weights: outputWeights(graph, at) }),
  }
  const o = asFloats((await runSegment(engine, layer, ['weights'], [], new Map(), output)).get('weights')!)
  return {
    nHeads: spec.nHeads,
    nKvHeads: spec.nKvHeads,
    dHead: spec.dHead,
    dModel: engine.model.spec.dModel,
    q: q!.weight,
    k: k!.weight,
    v: v!.weight,
    o: o.data,
    biases: { q: q!.bias, k: k!.bias, v: v!.bias },
    norm: await readNorm(engine, layer, at),
    readsText: at === 'cross_attn',
  }
}

/** Throws `unsupported` where a decoder reads an encoder: what its heads see depends on the encoder's text. */
export function requireOneStack(spec: ModelSpec): void {
  if (spec.encoderDecoder)
    throw new HeadscopeError(
      'unsupported',
      `Heads of the family ${spec.family} are taken apart in its decoder, over one text of its encoder: give that text first (model.reading).`,
    )
}

/** W of one head as a matrix: W_Q, W_K, W_V [d_model, d_head]. `gain` multiplies rows: the norm folded in. */
export function headMatrix(
  w: HeadWeights,
  letter: Letter,
  head: number,
  gain: Float32Array | null = null,
): Matrix {
  const heads = letter === 'q' ? w.nHeads : w.nKvHeads
  const factor = w.readsText && letter !== 'q' ? null : gain
  const index = letter === 'q' ? head : Math.floor((head * w.nKvHeads) / w.nHeads)
  const made = matrix(w.dModel, w.dHead)
  for (let i = 0; i < w.dModel; i++)
    for (let d = 0; d < w.dHead; d++)
      made.data[i * w.dHead + d] = w[letter][(i * heads + index) * w.dHead + d]! * (factor ? factor[i]! : 1)
  return made
}

/** W_O of one head [d_head, d_model]. */
export function outputMatrix(w: HeadWeights, head: number): Matrix {
  const size = w.dHead * w.dModel
  return matrix(w.dHead, w.dModel, w.o.subarray(head * size, (head + 1) * size))
}

/** b_V [kv_head, d_head]; zeros where there is none. */
export async function valueBias(
  engine: Engine,
  layer: number,
  at: AttentionKind = 'attn',
): Promise<Float32Array> {
  return (await projection(engine, layer, 'v', at, true)).bias
}

// --- Internal helpers ---

/** One projection's weight [d_model, heads, d_head] and bias [heads, d_head]. */
async function projection(
  engine: Engine,
  layer: number,
  letter: Letter,
  at: AttentionKind,
  biasOnly = false,
) {
  const { dModel } = engine.model.spec
  const variant = (bias: boolean): Variant => ({
    key: `weights ${letter} ${at} ${bias}`,
    onPath: [],
    transform: (graph) => {
      const name = localHook(graph, `${at}.hook_${letter}`)
      return withResults(probed(graph, name, bias), { weights: hookInput(graph, name) })
    },
  })
  const send = async (rows: number, data: Float32Array, bias: boolean) => {
    const feeds = new Map<string, Feed>([['probe', { data, shape: [1, rows, dModel] }]])
    return asFloats((await runSegment(engine, layer, ['weights'], [], feeds, variant(bias))).get('weights')!)
      .data
  }
  const bias = await send(1, new Float32Array(dModel), true)
  if (biasOnly) return { weight: new Float32Array(0), bias }
  const identity = new Float32Array(dModel * dModel)
  for (let i = 0; i < dModel; i++) identity[i * dModel + i] = 1
  return { weight: await send(dModel, identity, false), bias }
}

/** The graph in which the projection before a hook reads the input `probe`, without clip, and without bias if asked. */
function probed(graph: Graph, hook: string, bias: boolean): Graph {
  const product = ancestor(graph, hookInput(graph, hook), isWeightProduct(graph))
  const weights = new Set(graph.weights.map((weight) => weight.id))
  const nodes = graph.nodes.map((node) => {
    if (node === product) return { ...node, inputs: ['probe', node.inputs[1]!] }
    const skipped = node.op === 'Clip' || (!bias && node.op === 'Add' && weights.has(node.inputs[1]!))
    return skipped && node.domain === ''
      ? { ...node, op: 'Identity', inputs: [node.inputs[0]!], attributes: {} }
      : node
  })
  return { ...graph, nodes, inputs: [...graph.inputs, { name: 'probe', dtype: 'f32' as const, rank: 3 }] }
}

const NORMS = new Set(['LayerNormalization', 'SimplifiedLayerNormalization'])

/** Gain and bias of the norm whose output the query projection reads. */
async function readNorm(engine: Engine, layer: number, at: AttentionKind): Promise<HeadWeights['norm']> {
  const found = (graph: Graph) => {
    const queries = hookInput(graph, localHook(graph, `${at}.hook_q`))
    const product = ancestor(graph, queries, isWeightProduct(graph))
    // A residual stream that is normed after its sums (BART) is read as it is.
    const reads = graph.nodes.find(({ outputs }) => outputs.includes(product.inputs[0]!))
    if (reads?.domain === 'hook' && /hook_resid_\w+$/.test(reads.op)) return null
    const node = producerOf(graph, unhooked(graph, product.inputs[0]!))
    return node && NORMS.has(node.op) ? node : null
  }
  const variant: Variant = {
    key: `norm weights ${at}`,
    onPath: [],
    transform: (graph) => {
      const [, gain, bias] = found(graph)!.inputs
      return withResults(graph, { gain: gain!, ...(bias ? { bias } : {}) })
    },
  }
  const node = found(segmentGraph(engine, layer, []))
  if (!node) return null
  const names = ['gain', ...(node.inputs[2] ? ['bias'] : [])]
  const outputs = await runSegment(engine, layer, names, [], new Map(), variant)
  const bias = outputs.get('bias')
  return { gain: asFloats(outputs.get('gain')!).data, bias: bias ? asFloats(bias).data : null }
}
