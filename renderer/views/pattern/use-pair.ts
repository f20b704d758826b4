/**
 * The two patterns that are compared, where there are two: without and with the active edits, or the held head and the
 * selected one. In: the selection. Out: both, with what they are called, or what they wait for.
 */
import { useQuery } from '@tanstack/react-query'
import type { RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import type { Pattern } from '../../api/pattern.ts'
import { useEditedRun, usePattern } from '../../api/queries.ts'
import { actingEdits, describeEdit } from '../../state/edits.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'

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
  const heldRun = useQuery({
    queryKey: ['run', held?.run ?? null],
    queryFn: () => api.run(held!.run),
    enabled: held !== null,
  })
  const heldPattern = usePattern(held?.run ?? null, held?.head ?? null)
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
  if (!held || (held.run === current.run.id && headName(held.head) === headName(current.head))) return null
  if (!heldRun.data || !heldPattern.data || heldPattern.data.run !== held.run) return null
  const name = (run: RunDetail, head: HeadId) =>
    held.run === current.run.id ? headName(head) : `${headName(head)} · ${run.modelName} · run ${run.id}`
  return {
    kind: 'held',
    before: {
      run: heldRun.data,
      head: held.head,
      pattern: heldPattern.data.pattern,
      label: `held ${name(heldRun.data, held.head)}`,
    },
    after: { ...current, label: name(current.run, current.head) },
    problem: null,
  }
}
