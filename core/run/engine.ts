/** What a run needs of an opened checkpoint: its family's graphs, where the weights lie, and a pool of sessions. */
import type { WeightFiles } from '../checkpoint/types.ts'
import type { FamilyModel } from '../families/family.ts'
import { encode } from '../graph/encode.ts'
import { type EditSlot, splice } from '../graph/splice.ts'
import { buildSegment, type HookInfo, type Segment } from './segments.ts'
import type { Feed, FetchedTensor, SessionPool } from './session.ts'

export interface Engine {
  readonly model: FamilyModel
  /** The unembedding decided on. */
  readonly matrix: string
  readonly weights: WeightFiles
  readonly pool: SessionPool
  readonly hooks: readonly HookInfo[]
  /** Scores of one block, in bytes, above which it runs in chunks of query rows. */
  readonly scoreBudget: number
}

/** Runs one segment for exactly these outputs (hook and result names) and edit slots. */
export function runSegment(
  engine: Engine,
  segment: Segment,
  outputs: readonly string[],
  slots: readonly EditSlot[],
  feeds: ReadonlyMap<string, Feed>,
): Promise<Map<string, FetchedTensor>> {
  const key = `${segment}|${outputs.join(',')}|${slots.map((slot) => `${slot.kind}:${slot.hook}`).join(',')}`
  return engine.pool.run(
    key,
    () => {
      const edited = new Set(slots.map((slot) => slot.hook))
      const graph = buildSegment(engine.model, segment, engine.matrix, edited)
      return encode(splice(graph, slots), outputs, engine.weights)
    },
    feeds,
  )
}
