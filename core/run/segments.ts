/**
 * A model as the small graphs that run one after the other: `embed`, `block 0 … n - 1`, `unembed`; before them, where
 * a decoder reads an encoder, the encoder's own `encoder.embed`, `encoder.0 …`, `encoder.memory`. In: a family's
 * model. Out: graphs for exactly the edits wanted, and the list of all hooks with their shapes.
 */
import type { BlockState, FamilyModel, StackModel } from '../families/family.ts'
import type { Axis } from '../graph/axes.ts'
import { createBuilder, type Graph } from '../graph/builder.ts'
import { MEMORY, MEMORY_AXES } from '../graph/cross-attention.ts'
import { LOGITS } from '../graph/hook-names.ts'
import {
  decoderOf,
  encoderOf,
  hookPrefix,
  type LayerSpec,
  type ModelSpec,
  type StackSpec,
} from '../graph/model-spec.ts'

/** A layer of the last stack, its two ends, or a part of the encoder before it. */
export type Segment = 'embed' | 'unembed' | number | EncoderSegment
export type EncoderSegment = 'encoder.embed' | 'encoder.memory' | `encoder.${number}`

/** Name of the input that carries a part of the state; its result carries the bare name. */
export function stateInput(part: string): string {
  return `in.${part}`
}

/** One stack of a model, and what its segments are called. */
export interface Stage {
  readonly stack: StackSpec
  readonly model: StackModel
  readonly embed: 'embed' | 'encoder.embed'
  block(layer: number): number | `encoder.${number}`
}

/** The stack that makes the logits. */
export function lastStage(model: FamilyModel): Stage {
  return { stack: decoderOf(model.spec), model, embed: 'embed', block: (layer) => layer }
}

/** The encoder that a decoder reads, or null. */
export function encoderStage(model: FamilyModel): Stage | null {
  const stack = encoderOf(model.spec)
  if (!stack || !model.encoder) return null
  return { stack, model: model.encoder, embed: 'encoder.embed', block: (layer) => `encoder.${layer}` }
}

/** Whether a segment belongs to the encoder that a decoder reads. */
export function isEncoder(segment: Segment): segment is EncoderSegment {
  return typeof segment === 'string' && segment.startsWith('encoder.')
}

/** The stack of a segment, and its layer where it is a block. */
export function placeOf(spec: ModelSpec, segment: Segment): { stack: StackSpec; layer: number | null } {
  if (typeof segment === 'number') return { stack: decoderOf(spec), layer: segment }
  const stack = isEncoder(segment) ? encoderOf(spec)! : decoderOf(spec)
  const layer = /^encoder\.(\d+)$/.exec(segment)
  return { stack, layer: layer ? Number(layer[1]) : null }
}

/** Geometry of a segment's block; null for the ends. */
export function layerOf(spec: ModelSpec, segment: Segment): LayerSpec | null {
  const { stack, layer } = placeOf(spec, segment)
  return layer === null ? null : stack.layers[layer]!
}

/**
 * The graph of a segment with every hook in it. `edited` says which hooks will be replaced (splice.ts does it);
 * `matrix` is the unembedding decided on.
 */
export function buildSegment(
  model: FamilyModel,
  segment: Segment,
  matrix: string,
  edited: ReadonlySet<string> = new Set(),
): Graph {
  const prefix = isEncoder(segment) ? 'encoder.' : hookPrefix(model.spec)
  const stack = isEncoder(segment) ? model.encoder! : model
  if (segment === 'embed' || segment === 'encoder.embed') {
    const g = createBuilder(prefix, edited)
    for (const [part, value] of Object.entries(stack.embed(g))) g.result(part, value)
    return g.finish()
  }
  const resid = ['batch', 'pos', 'd_model'] as const
  if (segment === 'unembed') {
    const g = createBuilder('', edited)
    g.result(LOGITS, model.unembed(g, g.input(stateInput('resid'), 'f32', resid), matrix))
    return g.finish()
  }
  if (segment === 'encoder.memory') {
    const g = createBuilder(prefix, edited)
    const made = model.encoder!.memory(g, g.input(stateInput('resid'), 'f32', resid))
    g.result(MEMORY, g.hook('hook_memory', made))
    return g.finish()
  }
  const { layer } = placeOf(model.spec, segment)
  const g = createBuilder(`${prefix}blocks.${layer}.`, edited)
  const hasMemory = stack === model && (encoderOf(model.spec) !== null || model.readsMemory)
  const reads = hasMemory ? { [MEMORY]: MEMORY_AXES } : {}
  const state = Object.fromEntries(
    Object.entries({ ...stack.state, ...reads }).map(([part, axes]) => [
      part,
      g.input(stateInput(part), 'f32', axes),
    ]),
  ) as BlockState
  for (const [part, value] of Object.entries(stack.block(g, layer!, state))) g.result(part, value)
  return g.finish()
}

/** A hook of a model. `shape` has sizes where they are known and axis words where they depend on the run. */
export interface HookInfo {
  readonly name: string
  readonly axes: readonly Axis[]
  /** Sizes, or axis words; `source` where cross-attention looks at the encoder's positions. */
  readonly shape: readonly (string | number)[]
  readonly segment: Segment
  /** The axes as windows of query rows cut them: positions of the encoder are `source` here, and stay whole. */
  readonly cut: readonly Axis[]
}

/** Every segment in the order of the computation. */
export function segmentsOf(model: FamilyModel): Segment[] {
  const blocks = (stage: Stage): Segment[] => stage.stack.layers.map((_, layer) => stage.block(layer))
  const encoder = encoderStage(model)
  return [
    ...(encoder ? (['encoder.embed', ...blocks(encoder), 'encoder.memory'] as const) : []),
    'embed',
    ...blocks(lastStage(model)),
    'unembed',
  ]
}

/** Every hook of a model, in the order of the computation. */
export function listHooks(model: FamilyModel, matrix: string): HookInfo[] {
  return segmentsOf(model).flatMap((segment) =>
    buildSegment(model, segment, matrix).hooks.map(({ name, axes }) => {
      const layer = layerOf(model.spec, segment)
      const away = axes.includes('query') ? 'key' : 'pos'
      return {
        name,
        axes: axes.map((axis) => (axis === 'source' ? away : axis)),
        segment,
        shape: axes.map((axis) => axisSize(axis, model.spec, layer)),
        cut: axes,
      }
    }),
  )
}

/** Whether an axis of a hook runs over the encoder's positions. */
export function overSource(hook: Pick<HookInfo, 'segment' | 'cut'>, axis: number): boolean {
  return isEncoder(hook.segment) || hook.cut[axis] === 'source'
}

// --- Internal helpers ---

function axisSize(axis: Axis, spec: ModelSpec, layer: LayerSpec | null): string | number {
  switch (axis) {
    case 'd_model':
      return spec.dModel
    case 'd_vocab':
      return spec.dVocab
    case 'one':
      return 1
    case 'head':
      return layer?.nHeads ?? axis
    case 'kv_head':
      return layer?.nKvHeads ?? axis
    case 'd_head':
      return layer?.dHead ?? axis
    case 'd_mlp':
      return layer?.dMlp ?? axis
    case 'expert':
      return layer?.experts?.count ?? axis
    case 'choice':
      return layer?.experts?.used ?? axis
    default:
      return axis
  }
}
