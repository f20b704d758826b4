/** POST /api/verify: is this checkpoint run right? About a dozen forwards of a dozen tokens; nothing is stored. */
import { Hono } from 'hono'
import { z } from 'zod'
import type { VerifyReply, VerifyRequest } from './contract-verify.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { metric } from './schemas.ts'

const verifyBody = z.strictObject({
  model: z.string(),
  golden: z.string().optional(),
  metric: metric.optional(),
})

export function verifyRoutes({ catalogue, compute }: ApiDeps) {
  return new Hono().post('/', body<VerifyRequest>(verifyBody), async (c) => {
    const request = c.req.valid('json')
    const folder = catalogue.folder(request.model)
    const reply = await compute.call('verify', { ...request, model: folder }, { signal: c.req.raw.signal })
    return c.json<VerifyReply>(reply)
  })
}
