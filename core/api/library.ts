/** GET /api/library: checkpoints that are known, and the prompts and runs that the workspace holds. */
import { Hono } from 'hono'
import type { Library } from './contract.ts'
import type { ApiDeps } from './deps.ts'

export function libraryRoutes({ catalogue, workspace }: ApiDeps) {
  return new Hono().get('/', async (c) => {
    const runs = workspace.runs().map((run) => ({ ...run, model: catalogue.nameOf(run.model) }))
    return c.json<Library>({ models: await catalogue.models(), prompts: workspace.prompts(), runs })
  })
}
