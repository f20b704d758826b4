/**
 * Inside the model: the residual stream under /api/residual, one head from first principles under /api/bench, weights
 * as jobs. The messages are in contract-inside.ts.
 */
import { Hono } from 'hono'
import { HeadscopeError } from '../errors.ts'
import { ask, startJob } from './ask.ts'
import type * as T from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import * as schemas from './schemas-inside.ts'

export function residualRoutes(deps: ApiDeps) {
  return new Hono()
    .post('/lens', body<T.LensRequest>(schemas.lensBody), ask(deps, 'lens'))
    .post('/patched', body<T.PatchedRequest>(schemas.patchedBody), ask(deps, 'patched'))
    .post('/dla', body<T.DlaRequest>(schemas.dlaBody), ask(deps, 'dla'))
    .post('/geometry', body<T.GeometryRequest>(schemas.geometryBody), ask(deps, 'geometry'))
    .post('/change', body<T.ChangeRequest>(schemas.changeBody), ask(deps, 'change'))
    .post('/contexts', body<T.ContextsRequest>(schemas.contextsBody), ask(deps, 'contexts'))
    .post('/compound', body<T.CompoundRequest>(schemas.compoundBody), ask(deps, 'compound'))
    .post('/neighbours', body<T.NeighboursRequest>(schemas.neighboursBody), ask(deps, 'neighbours'))
}

export function benchRoutes(deps: ApiDeps) {
  const { catalogue, compute } = deps
  return new Hono()
    .post('/head', body<T.BenchRequest>(schemas.benchBody), ask(deps, 'benchHead'))
    .post('/edit', body<T.BenchEditRequest>(schemas.benchEditBody), ask(deps, 'benchEdit'))
    .post('/basis', body<T.BasisRequest>(schemas.basisBody), ask(deps, 'benchBasis'))
    .post('/gradients', body<T.HeadGradientsRequest>(schemas.headGradientsBody), ask(deps, 'headGradients'))
    .post(
      '/pattern-gradient',
      body<T.PatternGradientRequest>(schemas.patternGradientBody),
      ask(deps, 'patternGradient'),
    )
    .post('/nudge', body<T.NudgeRequest>(schemas.nudgeBody), ask(deps, 'nudge'))
    .get('/accounting', async (c) => {
      const name = c.req.query('model')
      if (!name) throw new HeadscopeError('bad-request', 'Name a model: /api/bench/accounting?model=….')
      const options = { signal: c.req.raw.signal }
      return c.json<T.AccountingReply>(
        await compute.call('accounting', { model: catalogue.folder(name) }, options),
      )
    })
}

export function insideJobsRoutes(deps: ApiDeps) {
  return new Hono()
    .post('/weights', body<T.WeightsRequest>(schemas.weightsBody), startJob(deps, 'weights', 'weights'))
    .post('/pairs', body<T.PairsRequest>(schemas.pairsBody), startJob(deps, 'pairs', 'token pairs'))
}
