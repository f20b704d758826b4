/**
 * Goes on with a stored sweep that was stopped: by the person, by an engine that ended, by a full disk. In: what is
 * stored. Out: a button that starts the rest; its known cells come at once. Absent where nothing is left to do.
 */
import { useMutation } from '@tanstack/react-query'
import type { ExperimentKind, Experiments } from '../../../core/api/contract.ts'
import { startSweep } from '../../api/experiments.ts'

interface Props<K extends ExperimentKind> {
  readonly kind: K
  /** The stored sweep; null where there is none yet. */
  readonly id: number | null
  readonly request: Experiments[K]['request']
  readonly done: number
  readonly planned: number
  readonly running: boolean
  /** What the status bar calls it. */
  readonly title: string
}

export function ContinueSweep<K extends ExperimentKind>(props: Props<K>) {
  const { kind, id, request, done, planned, running, title } = props
  const more = useMutation({
    mutationFn: () => startSweep(kind, { ...request, resume: id! }, title, () => undefined),
  })
  if (id === null || running || more.isPending || done >= planned) return null
  return (
    <button
      type="button"
      className="button small"
      title="Computes the cells that are not stored yet; those that are come at once"
      onClick={() => more.mutate()}
    >
      Continue: {planned - done} left
    </button>
  )
}
