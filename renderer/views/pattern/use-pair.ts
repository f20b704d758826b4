/**
 * The two patterns that are compared, where there are two: without and with the active edits, or the held head and the
 * selected one. In: the selection. Out: both, with what they are called, or what they wait for.
 */
import type { RunDetail } from '../../../core/api/contract.ts'
import type { Pattern } from '../../api/pattern.ts'
import { useEditedRun, useHeldRun, useLibrary, usePattern } from '../../api/queries.ts'
import { actingEdits, describeEdit } from '../../state/edits.ts'
import { modelTitle } from '../../state/model-name.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { sideNames } from './side-names.ts'

export interface Side {
  readonly run: RunDetail
  readonly head: HeadId
  readonly pattern: Pattern
  readonly label: string
}

export interface Pair {
  readonly kind: 'edits' | 'held'
  readonly before: Side
  /** null while it is being made. */
  readonly after: Side | null
  readonly problem: Error | null
}

/** null: nothing to compare with. `current` is what the panel shows anyway. */
export function usePair(current: { run: RunDetail; head: HeadId; pattern: Pattern } | null): Pair | null {
  const stack = useSelection((s) => s.edits)
  const held = useSelection((s) => s.held)
  const acting = actingEdits(stack)
  const edited = useEditedRun()
  const editedPattern = usePattern(edited.data?.id ?? null, current?.head ?? null)
  const library = useLibrary().data
  const heldRun = useHeldRun()
  const kept = held && (held.head ?? current?.head ?? null)
  const heldPattern = usePattern(held?.run ?? null, kept)
  if (!current) return null

  if (acting.length > 0) {
    const fits =
      edited.data &&
      editedPattern.data?.run === edited.data.id &&
      headName(editedPattern.data) === headName(current.head)
    return {
      kind: 'edits',
      before: { ...current, label: 'as it is' },
      after: fits
        ? {
            run: edited.data,
            head: current.head,
            pattern: editedPattern.data!.pattern,
            label: acting.length === 1 ? describeEdit(acting[0]!) : `with ${acting.length} edits`,
          }
        : null,
      problem: edited.error ?? editedPattern.error,
    }
  }
  if (!held || !kept || (held.run === current.run.id && sameHead(kept, current.head))) return null
  const problem = heldRun.error ?? heldPattern.error
  const found = heldPattern.data?.run === held.run ? heldPattern.data : null
  if (!heldRun.data || (!found && !problem)) return null
  const run = heldRun.data
  const shown = found ? { layer: found.layer, head: found.head } : kept
  const model = (of: RunDetail) => modelTitle(library, of.model, of.modelName)
  const [before, after] = sideNames(
    { run, head: shown, model: model(run) },
    { ...current, model: model(current.run) },
  )
  return {
    kind: 'held',
    before: { run, head: shown, pattern: found?.pattern ?? current.pattern, label: `held ${before}` },
    after: { ...current, label: after },
    problem,
  }
}
