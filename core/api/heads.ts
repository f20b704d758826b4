/**
 * What heads do, and how checkpoints differ. Questions under /api/heads, long work as jobs under /api/jobs; the
 * messages are in contract-heads.ts.
 */
import { basename } from 'node:path'
import { Hono } from 'hono'
import { RELATION_EXAMPLE } from '../analysis/relation-example.ts'
import { SCORES } from '../analysis/scores/index.ts'
import { TOKEN_CLASSES } from '../analysis/token-classes.ts'
import { seriesNamed } from './analyses.ts'
import { ask, startJob } from './ask.ts'
import type {
  CompareRequest,
  CorpusRequest,
  DifferenceReply,
  DifferenceRequest,
  JobStarted,
  RelationRequest,
  ScoreInfo,
  SearchReply,
  SearchRequest,
  SeriesReply,
  SeriesRequest,
  SpansRequest,
  SummaryRequest,
} from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import {
  compareBody,
  corpusBody,
  differenceBody,
  relationBody,
  searchBody,
  seriesBody,
  spansBody,
  summaryBody,
} from './schemas-heads.ts'

export function headsRoutes(deps: ApiDeps) {
  const { catalogue, compute, workspace } = deps
  return new Hono()
    .get('/scores', (c) =>
      c.json<ScoreInfo[]>(
        SCORES.map(({ name, title, definition, kind }) => ({ name, title, definition, kind })),
      ),
    )
    .get('/classes', (c) => c.json<string[]>(TOKEN_CLASSES))
    .get('/relation-example', (c) => c.json(RELATION_EXAMPLE))
    .post('/search', body<SearchRequest>(searchBody), async (c) => {
      const { model, query, key, min_weight, ...limits } = c.req.valid('json')
      const choices = [query, key].filter((choice) => choice !== undefined)
      const options = { signal: c.req.raw.signal }
      const found = await compute.call('tokenIds', { model: catalogue.folder(model), choices }, options)
      const [first, second] = found.ids
      const atKey = query ? second : first
      return c.json<SearchReply>(
        workspace.search({
          contentHash: found.hash,
          ...(query ? { query: first! } : {}),
          ...(key ? { key: atKey! } : {}),
          ...(min_weight === undefined ? {} : { minWeight: min_weight }),
          ...limits,
        }),
      )
    })
    .post('/difference', body<DifferenceRequest>(differenceBody), async (c) => {
      const request = c.req.valid('json')
      const pair = { a: catalogue.folder(request.a), b: catalogue.folder(request.b) }
      const reply = await compute.call('difference', { ...request, ...pair }, { signal: c.req.raw.signal })
      return c.json<DifferenceReply>(reply)
    })
    .post('/summary', body<SummaryRequest>(summaryBody), ask(deps, 'summary'))
}

export function headJobsRoutes(deps: ApiDeps) {
  const { catalogue, compute, jobs } = deps
  return new Hono()
    .post('/spans', body<SpansRequest>(spansBody), startJob(deps, 'spans', 'places in text'))
    .post('/corpus', body<CorpusRequest>(corpusBody), startJob(deps, 'corpus', 'corpus'))
    .post('/relation', body<RelationRequest>(relationBody), startJob(deps, 'relation', 'relation'))
    .post('/compare', body<CompareRequest>(compareBody), (c) => {
      const request = c.req.valid('json')
      const [a, b] = [catalogue.folder(request.a), catalogue.folder(request.b)]
      const names = [catalogue.nameOf(a), catalogue.nameOf(b)] as const
      const job = jobs.start(`comparing ${basename(a)} and ${basename(b)}`, (options) =>
        compute.call('compare', { ...request, a, b, names }, options),
      )
      return c.json<JobStarted>({ job })
    })
    .post('/series', body<SeriesRequest>(seriesBody), (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      const members = catalogue.series(folder).map(({ at, path }) => ({ at, path: catalogue.folder(path) }))
      const job = jobs.start(`scanning the series of ${basename(folder)}`, async ({ tell, ...options }) => {
        const asked = { ...request, model: folder, members }
        const onNews = (news: unknown) => {
          const { cells } = news as { cells: readonly SeriesReply['steps'][number][] }
          tell({
            type: 'cells',
            cells: cells.map((step) => ({ ...step, path: catalogue.nameOf(step.path) })),
          })
        }
        return seriesNamed(catalogue, await compute.call('series', asked, { ...options, onNews }))
      })
      return c.json<JobStarted>({ job })
    })
}
