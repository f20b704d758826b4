/** Work on its way: how far it is and how to stop it; or why it stopped. */
import { cancelWork, type Work, type WorkKind } from '../../api/heads.ts'

export function WorkState<K extends WorkKind>({
  kind,
  work,
  text,
}: {
  kind: K
  work: Work<K>
  text: string
}) {
  if (work.state === 'stopped')
    return (
      <p className={work.problem === null ? 'muted work-state' : 'problem work-state'} role="alert">
        {work.problem ?? 'Stopped.'}
      </p>
    )
  const { progress } = work
  const share = progress && progress.total > 0 ? progress.done / progress.total : 0
  const left = progress?.secondsLeft
  return (
    <div className="notice" role="status">
      <p>{text}</p>
      <progress className="work-progress" aria-label={text} max={1} value={share} />
      <p className="small-text">
        {progress && progress.total > 0 ? `${progress.done} of ${progress.total}` : 'starting'}
        {left != null && left > 1 ? ` · ${Math.ceil(left)} s left` : ''}
      </p>
      <button
        type="button"
        className="button small"
        disabled={work.job === null}
        onClick={() => cancelWork(kind)}
      >
        Cancel
      </button>
    </div>
  )
}
