/**
 * The notebook: pinned figures in the person's order. Pictures leave as JSON text or inside the exported file, never as a
 * page of their own: what a figure holds cannot act on the app.
 */
import { Hono } from 'hono'
import { notebookHtml } from '../notebook/notebook-html.ts'
import type {
  FigureNoteRequest,
  FigureReply,
  NotebookReply,
  OrderRequest,
  PinReply,
  PinRequest,
} from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, idOf } from './http.ts'
import { figureNoteBody, orderBody, pinBody } from './schemas-notebook.ts'

export function notebookRoutes({ about, compute, workspace }: ApiDeps) {
  return new Hono()
    .get('/', (c) => c.json<NotebookReply>(workspace.figures()))
    .post('/', body<PinRequest>(pinBody), async (c) =>
      c.json<PinReply>(await compute.call('pinFigure', c.req.valid('json'))),
    )
    .put('/order', body<OrderRequest>(orderBody), async (c) => {
      await compute.call('orderFigures', c.req.valid('json'))
      return c.json<NotebookReply>(workspace.figures())
    })
    .get('/export', (c) => {
      const figures = workspace.figures().map(({ id }) => workspace.figure(id))
      const html = notebookHtml({ headscope: about.headscope, created: new Date().toISOString(), figures })
      c.header('content-disposition', 'attachment; filename="notebook.html"')
      return c.html(html)
    })
    .get('/:id', (c) => c.json<FigureReply>(workspace.figure(idOf(c.req.param('id'), 'figure'))))
    .put('/:id/note', body<FigureNoteRequest>(figureNoteBody), async (c) => {
      await compute.call('noteFigure', { id: idOf(c.req.param('id'), 'figure'), ...c.req.valid('json') })
      return c.json({ ok: true })
    })
    .delete('/:id', async (c) => {
      await compute.call('deleteFigure', { id: idOf(c.req.param('id'), 'figure') })
      return c.json({ ok: true })
    })
}
