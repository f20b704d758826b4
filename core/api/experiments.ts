/**
 * Stored sweeps. GET /api/experiments lists them, GET /api/experiments/:id gives one with the cells that are there,
 * DELETE removes one. POST /api/reproduce gives a request as a command line and as a script.
 */
import { Hono } from 'hono'
import type { ExperimentDetail, ExperimentSummary, Reproduced, ReproduceRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, idOf } from './http.ts'
import { reproduce } from './reproduce.ts'
import { reproduceBody } from './schemas-reproduce.ts'

export function experimentsRoutes(deps: Pick<ApiDeps, 'catalogue' | 'workspace' | 'compute'>) {
  const { catalogue, workspace, compute } = deps
  return new Hono()
    .get('/', (c) =>
      c.json<ExperimentSummary[]>(
        workspace.experiments().map((one) => ({ ...one, model: catalogue.nameOf(one.model) })),
      ),
    )
    .get('/:id', (c) =>
      c.json<ExperimentDetail>(experimentDetail(deps, idOf(c.req.param('id'), 'experiment'))),
    )
    .delete('/:id', async (c) => {
      await compute.call('deleteExperiment', { id: idOf(c.req.param('id'), 'experiment') })
      return c.json({ ok: true })
    })
}

export function reproduceRoutes({ catalogue }: Pick<ApiDeps, 'catalogue'>) {
  return new Hono().post('/', body<ReproduceRequest>(reproduceBody), (c) => {
    const asked = c.req.valid('json')
    if (asked.kind === 'compare') {
      const [path, b] = [catalogue.folder(asked.request.a), catalogue.folder(asked.request.b)]
      return c.json<Reproduced>(reproduce(asked, { path, b }))
    }
    const path = catalogue.folder(asked.request.model)
    if (asked.kind !== 'series') return c.json<Reproduced>(reproduce(asked, { path }))
    const members = catalogue.series(path).map((one) => ({ at: one.at, path: catalogue.folder(one.path) }))
    return c.json<Reproduced>(reproduce(asked, { path, members }))
  })
}

/** A stored sweep in the words of the contract. Throws not-found. */
export function experimentDetail(
  { catalogue, workspace }: Pick<ApiDeps, 'catalogue' | 'workspace'>,
  id: number,
): ExperimentDetail {
  const found = workspace.experiment(id)
  const model = catalogue.nameOf(found.model)
  const request = { ...found.request, model }
  const forms = reproduce({ kind: found.kind, request } as ReproduceRequest, { path: found.model })
  return { ...found, model, request, ...forms } as ExperimentDetail
}
