/**
 * Inside the model: the residual stream under /api/residual, one head from first principles under /api/bench, weights
 * as jobs. The messages are in contract-inside.ts.
 */
import { basename } from 'node:path'
import { Hono } from 'hono'
import { HeadscopeError } from '../errors.ts'
import type * as T from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import * as schemas from './schemas-inside.ts'

export function residualRoutes({ catalogue, compute }: ApiDeps) {
  /** A request with the model's folder in place of its name. */
  const placed = <R extends { readonly model: string }>(request: R): R => ({
    ...request,
    model: catalogue.folder(request.model),
  })
  return new Hono()
    .post('/lens', body<T.LensRequest>(schemas.lensBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.LensReply>(await compute.call('lens', placed(c.req.valid('json')), options))
    })
    .post('/patched', body<T.PatchedRequest>(schemas.patchedBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.PatchedReply>(await compute.call('patched', placed(c.req.valid('json')), options))
    })
    .post('/dla', body<T.DlaRequest>(schemas.dlaBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.DlaReply>(await compute.call('dla', placed(c.req.valid('json')), options))
    })
    .post('/geometry', body<T.GeometryRequest>(schemas.geometryBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.GeometryReply>(await compute.call('geometry', placed(c.req.valid('json')), options))
    })
    .post('/change', body<T.ChangeRequest>(schemas.changeBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.ChangeReply>(await compute.call('change', placed(c.req.valid('json')), options))
    })
    .post('/contexts', body<T.ContextsRequest>(schemas.contextsBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.ContextsReply>(await compute.call('contexts', placed(c.req.valid('json')), options))
    })
    .post('/compound', body<T.CompoundRequest>(schemas.compoundBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.CompoundReply>(await compute.call('compound', placed(c.req.valid('json')), options))
    })
    .post('/neighbours', body<T.NeighboursRequest>(schemas.neighboursBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.NeighboursReply>(await compute.call('neighbours', placed(c.req.valid('json')), options))
    })
}

export function benchRoutes({ catalogue, compute }: ApiDeps) {
  const placed = <R extends { readonly model: string }>(request: R): R => ({
    ...request,
    model: catalogue.folder(request.model),
  })
  return new Hono()
    .post('/head', body<T.BenchRequest>(schemas.benchBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.BenchReply>(await compute.call('benchHead', placed(c.req.valid('json')), options))
    })
    .post('/edit', body<T.BenchEditRequest>(schemas.benchEditBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.BenchEditReply>(await compute.call('benchEdit', placed(c.req.valid('json')), options))
    })
    .post('/basis', body<T.BasisRequest>(schemas.basisBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.BasisReply>(await compute.call('benchBasis', placed(c.req.valid('json')), options))
    })
    .post('/gradients', body<T.HeadGradientsRequest>(schemas.headGradientsBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.HeadGradientsReply>(
        await compute.call('headGradients', placed(c.req.valid('json')), options),
      )
    })
    .post('/nudge', body<T.NudgeRequest>(schemas.nudgeBody), async (c) => {
      const options = { signal: c.req.raw.signal }
      return c.json<T.NudgeReply>(await compute.call('nudge', placed(c.req.valid('json')), options))
    })
    .get('/accounting', async (c) => {
      const name = c.req.query('model')
      if (!name) throw new HeadscopeError('bad-request', 'Name a model: /api/bench/accounting?model=….')
      const options = { signal: c.req.raw.signal }
      return c.json<T.AccountingReply>(
        await compute.call('accounting', { model: catalogue.folder(name) }, options),
      )
    })
}

export function insideJobsRoutes({ catalogue, compute, jobs }: ApiDeps) {
  return new Hono()
    .post('/weights', body<T.WeightsRequest>(schemas.weightsBody), (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      const job = jobs.start(`weights of ${basename(folder)}`, (options) =>
        compute.call('weights', { ...request, model: folder }, options),
      )
      return c.json<T.JobStarted>({ job })
    })
    .post('/pairs', body<T.PairsRequest>(schemas.pairsBody), (c) => {
      const request = c.req.valid('json')
      const folder = catalogue.folder(request.model)
      const job = jobs.start(`token pairs, ${basename(folder)}`, (options) =>
        compute.call('pairs', { ...request, model: folder }, options),
      )
      return c.json<T.JobStarted>({ job })
    })
}
