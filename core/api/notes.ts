/** GET /api/notes?model=: the notes on a checkpoint's heads. PUT /api/notes writes one, or removes it with an empty text. */
import { Hono } from 'hono'
import { z } from 'zod'
import type { NoteReply, NoteRequest, NotesReply } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, query } from './http.ts'
import { model } from './schemas.ts'
import { noteBody } from './schemas-notebook.ts'

export function notesRoutes({ catalogue, compute, workspace }: ApiDeps) {
  return new Hono()
    .get('/', query(z.object({ model })), async (c) => {
      const folder = catalogue.folder(c.req.valid('query').model)
      const { hash } = await compute.call('hash', { model: folder }, { signal: c.req.raw.signal })
      return c.json<NotesReply>(workspace.headNotes(hash))
    })
    .put('/', body<NoteRequest>(noteBody), async (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      return c.json<NoteReply>(await compute.call('saveNote', { ...request, model: folder }))
    })
}
