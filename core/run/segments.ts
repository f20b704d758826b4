/**
 * A model as the small graphs that run one after the other: `embed`, `block 0 … n - 1`, `unembed`. In: a family's
 * model. Out: graphs for exactly the edits wanted, and the list of all hooks with their shapes.
 */
import type { BlockState, FamilyModel } from '../families/family.ts'
import type { Axis } from '../graph/axes.ts'
import { createBuilder, type Graph } from '../graph/builder.ts'
import { LOGITS } from '../graph/hook-names.ts'
import { decoderOf, type LayerSpec, type ModelSpec } from '../graph/model-spec.ts'

/** A block's layer, or the two ends. */
export type Segment = 'embed' | 'unembed' | number

/** Name of the input that carries a part of the state; its result carries the bare name. */
export function stateInput(part: string): string {
  return `in.${part}`
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
  if (segment === 'embed') {
    const g = createBuilder('', edited)
    for (const [part, value] of Object.entries(model.embed(g))) g.result(part, value)
    return g.finish()
  }
  if (segment === 'unembed') {
    const g = createBuilder('', edited)
    const logits = model.unembed(g, g.input(stateInput('resid'), 'f32', ['batch', 'pos', 'd_model']), matrix)
    g.result(LOGITS, logits)
    return g.finish()
  }
  const g = createBuilder(`blocks.${segment}.`, edited)
  const state = Object.fromEntries(
    Object.entries(model.state).map(([part, axes]) => [part, g.input(stateInput(part), 'f32', axes)]),
  ) as BlockState
  for (const [part, value] of Object.entries(model.block(g, segment, state))) g.result(part, value)
  return g.finish()
}

/** A hook of a model. `shape` has sizes where they are known and axis words where they depend on the run. */
export interface HookInfo {
  readonly name: string
  readonly axes: readonly Axis[]
  readonly shape: readonly (string | number)[]
  readonly segment: Segment
}

/** Every hook of a model, in the order of the computation. */
export function listHooks(model: FamilyModel, matrix: string): HookInfo[] {
  const count = decoderOf(model.spec).layers.length
  const segments: Segment[] = ['embed', ...Array.from({ length: count }, (_, l) => l), 'unembed']
  return segments.flatMap((segment) =>
    buildSegment(model, segment, matrix).hooks.map(({ name, axes }) => {
      const layer = typeof segment === 'number' ? decoderOf(model.spec).layers[segment]! : null
      return { name, axes, segment, shape: axes.map((axis) => axisSize(axis, model.spec, layer)) }
    }),
  )
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
