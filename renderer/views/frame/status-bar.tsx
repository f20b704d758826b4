/** Running work with progress, time left and cancel; what the numbers come from. */
import { api } from '../../api/client.ts'
import { dismissJob, type Job, useJobs } from '../../api/jobs.ts'
import { useAbout, useModel, useScan } from '../../api/queries.ts'
import { VerifyBadge } from './verify-badge.tsx'

export function StatusBar() {
  const jobs = useJobs()
  const about = useAbout()
  const model = useModel()
  const scan = useScan()
  const hash = model.data?.contentHash
  return (
    <footer className="status">
      <div className="jobs" role="status">
        {jobs.map((job) => (
          <JobLine key={job.id} job={job} />
        ))}
        {jobs.length === 0 && scan.data && (
          <span
            className="muted"
            title="Mean loss on the first and the second copy of the random tokens, in nats."
          >
            scored on {scan.data.settings.batch} × {scan.data.settings.length} random tokens, twice · seed{' '}
            {scan.data.settings.seed ?? 'given'} · loss {scan.data.loss.first?.toFixed(2) ?? '–'} →{' '}
            {scan.data.loss.second?.toFixed(2) ?? '–'}
          </span>
        )}
      </div>
      <span className="spacer" />
      {model.data && <VerifyBadge />}
      {model.data && (
        <span
          className="mono"
          title={
            hash ? `Content hash of the weights: ${hash}` : 'The weights are being read in the background.'
          }
        >
          {hash ? hash.slice(0, 12) : 'hashing…'}
        </span>
      )}
      {about.data && (
        <span title={`onnxruntime ${about.data.onnxruntime}, ${about.data.threads} threads`}>
          f32 · {about.data.device}
        </span>
      )}
      {about.data && <span title={`Workspace: ${about.data.store}`}>Headscope {about.data.headscope}</span>}
    </footer>
  )
}

function JobLine({ job }: { job: Job }) {
  const { progress } = job
  if (job.state === 'failed')
    return (
      <span className="job job-failed" role="alert">
        {job.title}: {job.problem}
        <button type="button" className="icon-button" aria-label="Dismiss" onClick={() => dismissJob(job.id)}>
          ✕
        </button>
      </span>
    )
  return (
    <span className="job">
      {job.title}
      <progress
        max={progress?.total ?? 1}
        {...(progress ? { value: progress.done } : {})}
        aria-label={job.title}
      />
      {progress && (
        <span className="mono">
          {Math.floor(progress.done)}/{progress.total}
          {progress.secondsLeft !== null && ` · ${Math.ceil(progress.secondsLeft)} s left`}
        </span>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label={`Cancel: ${job.title}`}
        title="Cancel"
        onClick={() => void api.cancelJob(job.id).catch(() => undefined) /* it has just ended */}
      >
        ✕
      </button>
    </span>
  )
}
