/** POST /api/predict: what the model says at one position, with and without edits. Nothing is stored. */
import { Hono } from 'hono'
import type { PredictReply, PredictRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { predictBody } from './schemas.ts'

export function predictRoutes({ catalogue, compute }: ApiDeps) {
  return new Hono().post('/', body<PredictRequest>(predictBody), async (c) => {
    const request = c.req.valid('json')
    const folder = catalogue.folder(request.model)
    const reply = await compute.call('predict', { ...request, model: folder }, { signal: c.req.raw.signal })
    return c.json<PredictReply>(reply)
  })
}
