/** POST /api/tokenize: the tokens of a text, as they will run. */
import { Hono } from 'hono'
import type { Tokenized, TokenizeRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { tokenizeBody } from './schemas.ts'

export function tokenizeRoutes({ catalogue, compute }: ApiDeps) {
  return new Hono().post('/', body<TokenizeRequest>(tokenizeBody), async (c) => {
    const { model, text, bos } = c.req.valid('json')
    const folder = catalogue.folder(model)
    const tokens = await compute.call('tokenize', { model: folder, text, bos }, { signal: c.req.raw.signal })
    return c.json<Tokenized>({ tokens })
  })
}
