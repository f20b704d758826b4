/** POST /api/generate: the continuation of a prompt. Cancelled when the client goes away. */
import { Hono } from 'hono'
import type { GenerateReply, GenerateRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { generateBody } from './schemas.ts'

export function generateRoutes({ catalogue, compute }: ApiDeps) {
  return new Hono().post('/', body<GenerateRequest>(generateBody), async (c) => {
    const request = c.req.valid('json')
    const folder = catalogue.folder(request.model)
    const reply = await compute.call('generate', { ...request, model: folder }, { signal: c.req.raw.signal })
    return c.json<GenerateReply>(reply)
  })
}
