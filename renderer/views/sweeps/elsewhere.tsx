/**
 * A sweep that is not of what is selected, said as such: one of another checkpoint is not drawn, one of another prompt is
 * drawn under a line that names it. In: the sweep and the selection. Out: a sentence and the way there; nothing where both
 * are the same.
 */
import { useMutation } from '@tanstack/react-query'
import type { RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { openExperiment } from '../../state/open.ts'
import { type AnySweep, idsOfSweep, isOfRun, sameIds } from './of-selection.ts'

/** Beside "nothing yet": the sweep that was chosen is another checkpoint's. */
export function OtherCheckpoint({ sweep }: { sweep: AnySweep | null }) {
  if (sweep === null || sweep.here) return null
  return (
    <p>
      What was open is of {sweep.modelName}, not of this checkpoint.{' '}
      <OpenThere sweep={sweep} label={`Open it on ${sweep.modelName}`} />
    </p>
  )
}

/** Above a result: the prompts that it is of, where they are not those on screen. */
export function OtherPrompt({
  sweep,
  run,
  corrupt = [],
}: {
  readonly sweep: AnySweep
  readonly run: RunDetail
  /** The corrupt prompt as it is written now; empty: none is. */
  readonly corrupt?: readonly TokenView[]
}) {
  const own = isOfRun(sweep, run)
  const other = idsOfSweep(sweep, 1)
  const asked = corrupt.map((view) => view.id)
  if (own && (asked.length === 0 || other.length === 0 || sameIds(asked, other))) return null
  const views = sweep.prompts[own ? 1 : 0]
  const words = views
    ? `“${views.map((view) => view.text).join('')}”`
    : `ids ${idsOfSweep(sweep, own ? 1 : 0).join(', ')}`
  return (
    <p className="warning elsewhere" role="status">
      <span>Of another {own ? 'corrupt ' : ''}prompt:</span>
      <span className="token-text clip" title={words}>
        {words}
      </span>
      <OpenThere sweep={sweep} label="Open it" />
    </p>
  )
}

function OpenThere({ sweep, label }: { sweep: AnySweep; label: string }) {
  const open = useMutation({ mutationFn: openExperiment })
  const { stored } = sweep
  if (stored === null) return null
  return (
    <>
      <button type="button" className="link" disabled={open.isPending} onClick={() => open.mutate(stored)}>
        {label}
      </button>
      {open.isError && <span className="problem"> {open.error.message}</span>}
    </>
  )
}
