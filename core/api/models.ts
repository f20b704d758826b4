/**
 * POST /api/models/open {path} opens a checkpoint and describes it; GET /api/models?path= describes it again; GET
 * /api/models/cost?path= says what opening would write.
 */
import { Hono } from 'hono'
import { z } from 'zod'
import type { OpenCost, OpenedModel, OpenRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, query } from './http.ts'
import { model, openBody } from './schemas.ts'

export function modelsRoutes({ catalogue, compute }: ApiDeps) {
  async function describe(name: string, signal: AbortSignal): Promise<OpenedModel> {
    const folder = catalogue.folder(name)
    const opened = await compute.call('open', { model: folder }, { signal })
    return { ...opened, path: catalogue.nameOf(folder), series: catalogue.series(folder) }
  }

  return new Hono()
    .post('/open', body<OpenRequest>(openBody), async (c) => {
      const { path } = c.req.valid('json')
      const opened = await describe(path, c.req.raw.signal)
      await catalogue.remember(catalogue.folder(path))
      return c.json<OpenedModel>(opened)
    })
    .get('/cost', query(z.object({ path: model })), async (c) => {
      const folder = catalogue.folder(c.req.valid('query').path)
      return c.json<OpenCost>(await compute.call('cost', { model: folder }, { signal: c.req.raw.signal }))
    })
    .get('/', query(z.object({ path: model })), async (c) =>
      c.json<OpenedModel>(await describe(c.req.valid('query').path, c.req.raw.signal)),
    )
}
