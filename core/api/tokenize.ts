/** POST /api/tokenize: the tokens of a text (or of ids), as they will run. POST /api/tokenize/merges: how one of them was built. */
import { Hono } from 'hono'
import type { MergesReply, MergesRequest, Tokenized, TokenizeRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { mergesBody, tokenizeBody } from './schemas.ts'

export function tokenizeRoutes({ catalogue, compute }: ApiDeps) {
  return new Hono()
    .post('/', body<TokenizeRequest>(tokenizeBody), async (c) => {
      const { model, ...prompt } = c.req.valid('json')
      const folder = catalogue.folder(model)
      const tokens = await compute.call(
        'tokenize',
        { model: folder, ...prompt },
        { signal: c.req.raw.signal },
      )
      return c.json<Tokenized>({ tokens })
    })
    .post('/merges', body<MergesRequest>(mergesBody), async (c) => {
      const { model, id } = c.req.valid('json')
      const folder = catalogue.folder(model)
      const merges = await compute.call('merges', { model: folder, id }, { signal: c.req.raw.signal })
      return c.json<MergesReply>({ merges })
    })
}
