/**
 * Long work. POST /api/jobs/run, scan, ablate, patch, path and attribute start it and answer {job}; GET /api/jobs lists it, GET
 * /api/jobs/:id/events follows it as server-sent events, POST /api/jobs/:id/cancel ends it.
 */
import { basename } from 'node:path'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import type {
  AblateRequest,
  AttributeRequest,
  ExperimentKind,
  Experiments,
  JobEvent,
  JobStarted,
  JobSummary,
  PatchRequest,
  PathRequest,
  RunRequest,
  ScanReply,
  ScanRequest,
  SweepNews,
} from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { experimentDetail } from './experiments.ts'
import { body, idOf } from './http.ts'
import { ablateBody, attributeBody, patchBody, pathBody, runBody, scanBody } from './schemas.ts'

/** How often a silent stream says that it is alive, in milliseconds: below the idle limits of tunnels. */
const HEARTBEAT = 15_000

/** Events after which a job still has something to say. */
const GOES_ON: ReadonlySet<string> = new Set(['progress', 'begun', 'cells'])

const DOING = {
  ablate: 'ablating',
  patch: 'patching',
  path: 'patching paths of',
  attribute: 'attributing',
} as const satisfies Record<ExperimentKind, string>

export function jobsRoutes(deps: ApiDeps) {
  const { catalogue, compute, jobs } = deps

  /** Starts a sweep; its result is the stored experiment. */
  function sweep<K extends ExperimentKind>(kind: K, request: Experiments[K]['request']): number {
    const folder = catalogue.folder(request.model)
    return jobs.start(`${DOING[kind]} ${basename(folder)}`, async ({ tell, ...options }) => {
      const { experiment } = await compute.call(
        'intervene',
        { kind, request: { ...request, model: folder } },
        { ...options, onNews: (news) => tell(news as SweepNews) },
      )
      return experimentDetail(deps, experiment)
    })
  }

  return new Hono()
    .get('/', (c) => c.json<JobSummary[]>(jobs.list()))
    .post('/run', body<RunRequest>(runBody), async (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      const job = jobs.start(`running ${basename(folder)}`, (options) =>
        compute.call('run', { ...request, model: folder }, options),
      )
      return c.json<JobStarted>({ job })
    })
    .post('/scan', body<ScanRequest>(scanBody), async (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      const job = jobs.start(`scanning ${basename(folder)}`, async (options): Promise<ScanReply> => {
        const result = await compute.call('scan', { ...request, model: folder }, options)
        return { ...result, model: catalogue.nameOf(folder) }
      })
      return c.json<JobStarted>({ job })
    })
    .post('/ablate', body<AblateRequest>(ablateBody), (c) =>
      c.json<JobStarted>({ job: sweep('ablate', c.req.valid('json')) }),
    )
    .post('/patch', body<PatchRequest>(patchBody), (c) =>
      c.json<JobStarted>({ job: sweep('patch', c.req.valid('json')) }),
    )
    .post('/path', body<PathRequest>(pathBody), (c) =>
      c.json<JobStarted>({ job: sweep('path', c.req.valid('json')) }),
    )
    .post('/attribute', body<AttributeRequest>(attributeBody), (c) =>
      c.json<JobStarted>({ job: sweep('attribute', c.req.valid('json')) }),
    )
    .post('/:id/cancel', (c) => {
      jobs.cancel(idOf(c.req.param('id'), 'job'))
      return c.json({ ok: true })
    })
    .get('/:id/events', (c) => {
      const id = idOf(c.req.param('id'), 'job')
      const events: JobEvent[] = []
      let wake = () => {}
      const leave = jobs.follow(id, (event) => {
        // A listener that is slower than the work needs only the newest progress.
        if (events.at(-1)?.type === 'progress' && event.type === 'progress') events.pop()
        events.push(event)
        wake()
      })
      return streamSSE(c, async (stream) => {
        stream.onAbort(() => wake())
        try {
          while (!stream.aborted) {
            const event = events.shift()
            if (event) {
              await stream.writeSSE({ data: JSON.stringify(event) })
              if (!GOES_ON.has(event.type)) return
            } else if (!(await news())) {
              await stream.write(': alive\n\n')
            }
          }
        } finally {
          leave()
        }
      })

      /** Waits for an event (true) or for the heartbeat (false). */
      function news(): Promise<boolean> {
        return new Promise((resolve) => {
          const timer = setTimeout(() => resolve(false), HEARTBEAT)
          wake = () => {
            clearTimeout(timer)
            resolve(true)
          }
        })
      }
    })
}
