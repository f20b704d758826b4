/**
 * Attention and the residual stream in a graph that others made. In: the graph. Out: tensors by hook name where the
 * structure says what they are, attention that is fused (no pattern exists in the graph), and every other tensor.
 *
 * Attention is a Softmax between two matrix products. The residual stream is where the first sum after it meets a
 * tensor that the attention was computed from; what joins before that is a parallel MLP. Names, widths and exporters
 * play no part.
 */
import type { NodeProto } from 'onnx-buf'
import type { Axis } from '../graph/axes.ts'
import { blockHook } from '../graph/hook-names.ts'
import { attributeOf, type Flow } from './flow.ts'

/** A tensor that means what a hook means. */
export interface Tap {
  readonly hook: string
  readonly layer: number
  readonly tensor: string
  readonly axes: readonly Axis[]
}

/** Attention in one operation. */
export interface Fused {
  readonly layer: number
  /** 'com.microsoft GroupQueryAttention'. */
  readonly op: string
}

export interface Recognised {
  readonly layers: number
  readonly taps: readonly Tap[]
  readonly fused: readonly Fused[]
  /** Tensors that change with the tokens, by their own names, in the order of the computation. */
  readonly observable: readonly string[]
}

const RESID = ['batch', 'pos', 'd_model'] as const
const SCORES = ['batch', 'head', 'query', 'key'] as const
const Z = ['batch', 'pos', 'head', 'd_head'] as const

/** Steps between a score's product and its Softmax, and between the Softmax and the product with the values. */
const BETWEEN = new Set([
  'Add',
  'Sub',
  'Mul',
  'Div',
  'Where',
  'Cast',
  'Identity',
  'Dropout',
  'Tanh',
  'Clip',
  'Min',
  'Max',
  'Reshape',
  'IsNaN',
  'And',
  'Not',
  'Unsqueeze',
  'Squeeze',
])
const AFTER_SOFTMAX = new Set(['Cast', 'Identity', 'Dropout', 'Where', 'IsNaN', 'Reshape', 'Mul'])
const FUSED = new Set([
  'Attention',
  'MultiHeadAttention',
  'GroupQueryAttention',
  'DecoderMaskedMultiHeadAttention',
  'PackedAttention',
  'PackedMultiHeadAttention',
  'PagedAttention',
  'SparseAttention',
  'DecoderAttention',
  'LongformerAttention',
  'QAttention',
  'DecoderMaskedSelfAttention',
])
const SKIP_NORMS = new Set(['SkipLayerNormalization', 'SkipSimplifiedLayerNormalization'])

/** Looks at every node once per layer. */
export function recognise(flow: Flow): Recognised {
  const found = flow.nodes.flatMap((node) => attentionAt(flow, node))
  const taps = found.flatMap((attention, layer) => [
    ...innerTaps(flow, attention, layer),
    ...residualTaps(flow, attention, found[layer + 1], layer),
  ])
  const fused = found.flatMap((attention, layer) =>
    attention.fused ? [{ layer, op: `${attention.node.domain || 'ai.onnx'} ${attention.node.opType}` }] : [],
  )
  const observable = flow.nodes.flatMap((node) =>
    node.output.filter((tensor) => tensor !== '' && flow.isData(tensor)),
  )
  return { layers: found.length, taps, fused, observable }
}

// --- Internal helpers ---

interface Attention {
  readonly node: NodeProto
  readonly fused: boolean
  /** What the values were mixed into. */
  readonly mixed: string
  /** A tensor that depends on everything that attention reads. */
  readonly reads: ReadonlySet<string>
}

function attentionAt(flow: Flow, node: NodeProto): Attention[] {
  if (FUSED.has(node.opType)) {
    const reads = new Set(node.input.flatMap((input) => (input === '' ? [] : [...flow.before(input)])))
    return [{ node, fused: true, mixed: node.output[0]!, reads }]
  }
  if (node.opType !== 'Softmax' || !comesFromProduct(flow, node.input[0]!)) return []
  const mixed = mixedBy(flow, node.output[0]!)
  if (mixed === null) return []
  return [{ node, fused: false, mixed, reads: flow.before(mixed) }]
}

/** Whether a product of two data tensors lies before, with only scaling, masking and casts between. */
function comesFromProduct(flow: Flow, tensor: string): boolean {
  const open = [tensor]
  const seen = new Set<string>()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const maker = flow.maker(next)
    if (!maker || seen.has(next)) continue
    seen.add(next)
    if (/^(Fused)?MatMul$/.test(maker.opType)) {
      if (maker.input.slice(0, 2).every((input) => flow.isData(input))) return true
    } else if (BETWEEN.has(maker.opType)) open.push(...maker.input.filter((input) => flow.isData(input)))
  }
  return false
}

/** The product of a pattern with the values, or null. */
function mixedBy(flow: Flow, pattern: string): string | null {
  const open = [pattern]
  const seen = new Set<string>()
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (seen.has(next)) continue
    seen.add(next)
    for (const reader of flow.readers(next)) {
      if (/^(Fused)?MatMul$/.test(reader.opType) && reader.input[0] === next && flow.isData(reader.input[1]!))
        return reader.output[0]!
      if (AFTER_SOFTMAX.has(reader.opType)) open.push(reader.output[0]!)
    }
  }
  return null
}

function innerTaps(flow: Flow, { node, fused, mixed }: Attention, layer: number): Tap[] {
  if (fused) return []
  const back = readersThrough(flow, mixed).find(
    (reader) => reader.opType === 'Transpose' && String(attributeOf(reader, 'perm')) === '0,2,1,3',
  )
  return [
    tap(layer, 'attn.hook_attn_scores', node.input[0]!, SCORES),
    tap(layer, 'attn.hook_pattern', node.output[0]!, SCORES),
    ...(back ? [tap(layer, 'attn.hook_z', back.output[0]!, Z)] : []),
  ]
}

/** What reads a tensor, looking through casts and reshapes (BLOOM mixes the heads of all prompts in one list). */
function readersThrough(flow: Flow, tensor: string): readonly NodeProto[] {
  return flow
    .readers(tensor)
    .flatMap((reader) =>
      ['Cast', 'Identity', 'Reshape'].includes(reader.opType)
        ? [reader, ...readersThrough(flow, reader.output[0]!)]
        : [reader],
    )
}

interface Sum {
  /** The part that comes from attention (or from the middle of the block), and the other. */
  readonly own: string
  readonly other: string
  readonly sum: string
  readonly node: NodeProto
}

/** Sums of a tensor's descendants with data that does not descend from it, in order. */
function sumsAfter(flow: Flow, from: string): Sum[] {
  const after = flow.after(from)
  return flow.nodes.flatMap((node) => {
    const skip = SKIP_NORMS.has(node.opType)
    if (node.opType !== 'Add' && !skip) return []
    const sum = skip ? node.output[3] : node.output[0]
    if (!sum) return []
    const [a, b] = node.input as [string, string]
    if (after.has(a) === after.has(b)) return []
    const [own, other] = after.has(a) ? [a, b] : [b, a]
    return flow.isData(other) ? [{ own, other, sum, node }] : []
  })
}

/** `next` is the attention of the block after: what it computes is no part of this one. */
function residualTaps(flow: Flow, attention: Attention, next: Attention | undefined, layer: number): Tap[] {
  const sums = sumsAfter(flow, attention.mixed)
  const at = sums.findIndex(({ other }) => attention.reads.has(other))
  if (at < 0) return []
  const joined = sums[at]!
  const pre = tap(layer, 'hook_resid_pre', joined.other, RESID)
  const parallel = at > 0 ? sums[0]! : null
  if (parallel)
    return [
      pre,
      tap(layer, 'hook_attn_out', parallel.own, RESID),
      tap(layer, 'hook_mlp_out', parallel.other, RESID),
      tap(layer, 'hook_resid_post', joined.sum, RESID),
    ]
  const late = lateMlp(flow, joined)
  if (late)
    return [
      pre,
      tap(layer, 'hook_attn_out', joined.own, RESID),
      tap(layer, 'hook_mlp_out', late.mlp, RESID),
      tap(layer, 'hook_resid_post', late.sum, RESID),
    ]
  const mid = normedSum(flow, joined.sum)
  const first = [
    pre,
    tap(layer, 'hook_attn_out', joined.own, RESID),
    tap(layer, 'hook_resid_mid', mid, RESID),
  ]
  // The block ends where the middle itself is added to something that was computed from it.
  // (A norm that sums hands out the middle and its normed form side by side.)
  const after = flow.after(mid, ...(SKIP_NORMS.has(joined.node.opType) ? [joined.node.output[0]!] : []))
  const isMid = (tensor: string) => sourceOf(flow, tensor) === sourceOf(flow, mid)
  const end = flow.nodes.find((node) => {
    const [a, b] = node.input as [string, string]
    const isSum = node.opType === 'Add' || (SKIP_NORMS.has(node.opType) && !!node.output[3])
    return isSum && isMid(a) !== isMid(b) && after.has(isMid(a) ? b : a)
  })
  if (!end) return first
  const [inMid, out] = (isMid(end.input[0]!) ? end.input : [...end.input].reverse()) as [string, string]
  if (next && flow.after(next.mixed).has(out))
    // no MLP: the next thing added is the next attention
    return [...first.slice(0, 2), tap(layer, 'hook_resid_post', mid, RESID)]
  const sum = SKIP_NORMS.has(end.opType) ? end.output[3]! : end.output[0]!
  return [
    ...first,
    tap(layer, 'hook_mlp_out', out, RESID),
    tap(layer, 'hook_resid_post', normedSum(flow, unflattened(flow, inMid, sum)), RESID),
  ]
}

/** A parallel MLP that is added after attention has joined the stream (Cohere): it is computed from what entered the block. */
function lateMlp(flow: Flow, joined: Sum): { mlp: string; sum: string } | null {
  const after = flow.after(joined.sum)
  const fromEntry = flow.after(joined.other)
  for (const node of flow.readers(joined.sum)) {
    if (node.opType !== 'Add') continue
    const [a, b] = node.input as [string, string]
    const mlp = a === joined.sum ? b : a
    if (flow.isData(mlp) && !after.has(mlp) && fromEntry.has(mlp)) return { mlp, sum: node.output[0]! }
  }
  return null
}

/** OPT adds its MLP to rows of all prompts in one list; what is handed on has its batch again. */
function unflattened(flow: Flow, added: string, sum: string): string {
  const [only, ...more] = flow.readers(sum)
  const flat = flow.maker(added)?.opType === 'Reshape'
  return flat && only?.opType === 'Reshape' && more.length === 0 ? only.output[0]! : sum
}

/** A tensor behind casts, copies and reshapes. */
function sourceOf(flow: Flow, tensor: string): string {
  const maker = flow.maker(tensor)
  if (!maker || !['Cast', 'Identity', 'Dropout', 'Reshape'].includes(maker.opType)) return tensor
  return sourceOf(flow, maker.input[0]!)
}

/** A sum that only a norm reads is normed before it is handed on (BERT and its like). */
function normedSum(flow: Flow, sum: string): string {
  const [only, ...more] = flow.readers(sum)
  const normed = only?.output[0]
  if (only?.opType !== 'LayerNormalization' || more.length > 0 || !normed) return sum
  return flow.readers(normed).length > 1 ? normed : sum
}

function tap(layer: number, local: string, tensor: string, axes: readonly Axis[]): Tap {
  return { hook: blockHook(layer, local), layer, tensor, axes }
}
