/** What a run needs of an opened checkpoint: its family's graphs, where the weights lie, and a pool of sessions. */
import type { WeightFiles } from '../checkpoint/types.ts'
import type { FamilyModel } from '../families/family.ts'
import type { Graph } from '../graph/builder.ts'
import { encode } from '../graph/encode.ts'
import { type EditSlot, splice } from '../graph/splice.ts'
import type { Dense } from './dense.ts'
import type { Source } from './pass.ts'
import { buildSegment, type HookInfo, type Segment } from './segments.ts'
import type { Feed, FetchedTensor, SessionPool } from './session.ts'

export interface Engine {
  readonly model: FamilyModel
  /** The unembedding decided on. */
  readonly matrix: string
  readonly weights: WeightFiles
  readonly pool: SessionPool
  readonly hooks: readonly HookInfo[]
  /** What an encoder handed over for the one text that every run of this engine reads (reading.ts). */
  readonly reads?: Source & { readonly memory: Dense }
  /** Of such an engine the whole model's, encoder included: it reads other texts. */
  readonly whole?: Engine
  /** Scores of one block, in bytes, above which it runs in chunks of query rows. */
  readonly scoreBudget: number
  /** Text to ids, for the corpus of a mean. Throws `bad-prompt` without a tokenizer. */
  readonly encode: (text: string) => number[]
}

/** A segment's graph made into another: with saved values as results, or its backward half. */
export interface Variant {
  /** Names the variant among the sessions. */
  readonly key: string
  /** Hooks that must lie on the path, though nothing edits them: their norms are emitted decomposed. */
  readonly onPath: readonly string[]
  readonly transform: (graph: Graph) => Graph
}

/** The graph of a segment with its edits in it. */
export function segmentGraph(
  engine: Engine,
  segment: Segment,
  slots: readonly EditSlot[],
  onPath: readonly string[] = [],
): Graph {
  const edited = new Set([...slots.map((slot) => slot.hook), ...onPath])
  return splice(buildSegment(engine.model, segment, engine.matrix, edited), slots)
}

/** Runs one segment for exactly these outputs (hook and result names) and edit slots. */
export function runSegment(
  engine: Engine,
  segment: Segment,
  outputs: readonly string[],
  slots: readonly EditSlot[],
  feeds: ReadonlyMap<string, Feed>,
  variant: Variant | null = null,
): Promise<Map<string, FetchedTensor>> {
  const edits = slots.map((slot) => `${slot.kind}:${slot.hook}`).join(',')
  const key = `${segment}|${outputs.join(',')}|${edits}|${variant ? `${variant.key} ${variant.onPath}` : ''}`
  return engine.pool.run(
    key,
    () => {
      const graph = segmentGraph(engine, segment, slots, variant?.onPath)
      return encode(variant ? variant.transform(graph) : graph, outputs, engine.weights)
    },
    feeds,
  )
}
