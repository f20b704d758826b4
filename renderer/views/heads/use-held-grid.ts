/** The heads of the held run, where it is another one than the selected. In: the selection. Out: all that a grid needs. */
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { SpecSummary } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { useHeldRun, useLibrary, useRun, useScan, useThumbnails } from '../../api/queries.ts'
import { modelTitle } from '../../state/model-name.ts'
import { runNames } from '../pattern/side-names.ts'

export interface HeldGrid {
  readonly spec: SpecSummary
  readonly heads: readonly HeadScores[] | null
  readonly thumbnails: Thumbnails | null
  /** What both are called: the held run, the selected one. */
  readonly names: readonly [string, string]
  /** Whether both are of one checkpoint: pins and notes are then of both. */
  readonly sameModel: boolean
}

/** null: nothing else is held. */
export function useHeldGrid(): HeldGrid | null {
  const run = useRun().data
  const held = useHeldRun().data
  const other = held && run && held.id !== run.id ? held : null
  const thumbnails = useThumbnails(other?.id ?? null).data ?? null
  const scan = useScan(other?.model ?? null).data ?? null
  const library = useLibrary().data
  if (!other || !run) return null
  const named = (of: typeof run) => ({ run: of, model: modelTitle(library, of.model, of.modelName) })
  return {
    spec: other.spec,
    heads: scan?.heads ?? null,
    thumbnails,
    names: runNames(named(other), named(run)),
    sameModel: other.model === run.model,
  }
}
