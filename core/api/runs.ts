/**
 * Stored runs. GET /api/runs/:id describes one; pattern, thumbnails and residual give its tensors as they are stored;
 * induction gives its A B … A places and what every head does there, value-norms what its patterns are weighted by, edges which
 * heads look at a token. DELETE /api/runs/:id removes one, POST
 * /api/runs/:id/keep-scores drops its captures.
 */
import { Hono } from 'hono'
import { z } from 'zod'
import type { TokenView } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Prediction } from '../run/types.ts'
import type { EdgesReply, Freed, InductionView, RunDetail, ValueNormsReply } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { idOf, query } from './http.ts'
import type { StoredTensor } from './workspace.ts'

const layer = z.coerce.number().int().min(0)
const of = z.enum(['encoder', 'decoder', 'cross']).optional()
const place = z.object({ layer, head: z.coerce.number().int().min(0), of })
const position = z.coerce.number().int().min(0).optional()
const edgePlace = z
  .object({ query: position, key: position })
  .refine(({ query, key }) => query !== undefined || key !== undefined, 'name a query, a key, or both')
const normsOf = z.object({ layer, kind: z.enum(['value', 'output']).default('value') })

export function runsRoutes({ catalogue, workspace, compute }: ApiDeps) {
  /** Views of the likely next tokens. A run outlives its model's folder: then a token is its number. */
  async function wordsFor(model: string, positions: readonly Prediction[], signal: AbortSignal) {
    const ids = [...new Set(positions.flatMap(({ top }) => top.map(({ id }) => id)))]
    const views = await compute
      .call('views', { model, ids }, { signal })
      .catch(() => ids.map((id): TokenView => ({ id, text: String(id), special: false, group: null })))
    return new Map(ids.map((id, i) => [id, views[i]!]))
  }

  return new Hono()
    .get('/:id', async (c) => {
      const { positions, ...run } = workspace.run(idOf(c.req.param('id'), 'run'))
      const words = await wordsFor(run.model, positions, c.req.raw.signal)
      const predictions = positions.map((place) => ({
        ...place,
        topTokens: place.top.map(({ id }) => words.get(id)!),
      }))
      return c.json<RunDetail>({ ...run, model: catalogue.nameOf(run.model), predictions })
    })
    .delete('/:id', async (c) => {
      await compute.call('deleteRun', { run: idOf(c.req.param('id'), 'run') })
      return c.json({ ok: true })
    })
    .post('/:id/keep-scores', async (c) =>
      c.json<Freed>(await compute.call('keepScores', { run: idOf(c.req.param('id'), 'run') })),
    )
    .get('/:id/pattern', query(place), (c) => {
      const { layer, head, of } = c.req.valid('query')
      return tensor(workspace.pattern(idOf(c.req.param('id'), 'run'), layer, head, of))
    })
    .get('/:id/thumbnails', query(z.object({ of })), (c) =>
      tensor(workspace.thumbnails(idOf(c.req.param('id'), 'run'), c.req.valid('query').of)),
    )
    .get('/:id/residual', query(z.object({ hook: z.string().max(200) })), (c) =>
      tensor(workspace.residual(idOf(c.req.param('id'), 'run'), c.req.valid('query').hook)),
    )
    .get('/:id/edges', query(edgePlace), (c) => {
      const { key, query: from } = c.req.valid('query')
      const place = { ...(key === undefined ? {} : { key }), ...(from === undefined ? {} : { query: from }) }
      return c.json<EdgesReply>(workspace.edgesAt(idOf(c.req.param('id'), 'run'), place))
    })
    .get('/:id/value-norms', query(normsOf), async (c) => {
      const { model, provenance, views, id } = workspace.run(idOf(c.req.param('id'), 'run'))
      const { contentHash, edits } = provenance
      const ids = views.map((view) => view.id)
      const input = { run: id, model, contentHash, ids, edits, ...c.req.valid('query') }
      const reply = await compute.call('valueNorms', input, { signal: c.req.raw.signal })
      return c.json<ValueNormsReply>(reply)
    })
    .get('/:id/induction', async (c) => {
      const run = idOf(c.req.param('id'), 'run')
      return c.json<InductionView>(await compute.call('induction', { run }, { signal: c.req.raw.signal }))
    })
}

/**
 * The bytes as they lie in the store, with what they mean in the headers. No browser may keep them: another workspace on
 * the same port has other runs of these numbers.
 */
function tensor({ bytes, shape, dtype, codec }: StoredTensor): Response {
  if (bytes.byteLength === 0) throw new HeadscopeError('bad-store', 'The workspace holds an empty tensor.')
  return new Response(bytes, {
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.byteLength),
      'x-headscope-shape': JSON.stringify(shape),
      'x-headscope-dtype': dtype,
      'x-headscope-codec': codec,
    },
  })
}
