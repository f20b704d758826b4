/**
 * Finished analyses of the workspace. GET /api/analyses lists them, GET /api/analyses/:id gives one again without
 * computing, DELETE removes one.
 */
import { Hono } from 'hono'
import type { Catalogue } from './catalogue.ts'
import type { AnalysisDetail, AnalysisSummary, SeriesReply } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { idOf } from './http.ts'

export function analysesRoutes({ catalogue, workspace, compute }: ApiDeps) {
  return new Hono()
    .get('/', (c) =>
      c.json<AnalysisSummary[]>(
        workspace.analyses().map((one) => ({ ...one, model: catalogue.nameOf(one.model) })),
      ),
    )
    .get('/:id', (c) => {
      const found = workspace.analysis(idOf(c.req.param('id'), 'analysis'))
      const { request } = found
      const named = 'a' in request ? { a: catalogue.nameOf(request.a), b: catalogue.nameOf(request.b) } : null
      const model = catalogue.nameOf(found.model)
      return c.json<AnalysisDetail>({
        ...found,
        model,
        request: { ...request, ...(named ?? { model }) },
        reply: found.kind === 'series' ? seriesNamed(catalogue, found.reply) : found.reply,
      } as AnalysisDetail)
    })
    .delete('/:id', async (c) => {
      await compute.call('deleteExperiment', { id: idOf(c.req.param('id'), 'analysis') })
      return c.json({ ok: true })
    })
}

/** A series with the names of its members in place of folders. */
export function seriesNamed({ nameOf }: Pick<Catalogue, 'nameOf'>, reply: SeriesReply): SeriesReply {
  return {
    ...reply,
    steps: reply.steps.map((step) => ({ ...step, path: nameOf(step.path) })),
    broken: reply.broken.map((member) => ({ ...member, path: nameOf(member.path) })),
  }
}
