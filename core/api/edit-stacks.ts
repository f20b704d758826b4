/**
 * Stacks of edits that are kept by name. GET /api/edit-stacks lists them, GET /api/edit-stacks/:id gives one with what it
 * did, POST keeps one, DELETE removes one.
 */
import { Hono } from 'hono'
import type { EditStackDetail, EditStackRequest, EditStackSummary } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, idOf } from './http.ts'
import { editStackBody } from './schemas-edits.ts'

export function editStacksRoutes({ catalogue, workspace, compute }: ApiDeps) {
  return new Hono()
    .get('/', (c) =>
      c.json<EditStackSummary[]>(
        workspace.editStacks().map((one) => ({ ...one, model: catalogue.nameOf(one.model) })),
      ),
    )
    .get('/:id', (c) => {
      const found = workspace.editStack(idOf(c.req.param('id'), 'stack of edits'))
      const model = catalogue.nameOf(found.model)
      return c.json<EditStackDetail>({ ...found, model, request: { ...found.request, model } })
    })
    .post('/', body<EditStackRequest>(editStackBody), async (c) => {
      const asked = c.req.valid('json')
      const request = { ...asked, model: catalogue.folder(asked.model) }
      return c.json<{ id: number }>(await compute.call('keepEdits', request, { signal: c.req.raw.signal }))
    })
    .delete('/:id', async (c) => {
      const { id } = workspace.editStack(idOf(c.req.param('id'), 'stack of edits'))
      await compute.call('deleteExperiment', { id })
      return c.json({ ok: true })
    })
}
