/**
 * The HTTP API as one Hono app. In: what the handlers stand on. Out: an app that answers /api/… and the pages of the
 * built renderer. Routes and messages are in contract.ts; `AppType` gives hono's typed client the same.
 */
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { HeadscopeError } from '../errors.ts'
import { aboutRoutes } from './about.ts'
import { analysesRoutes } from './analyses.ts'
import type { ApiDeps } from './deps.ts'
import { editStacksRoutes } from './edit-stacks.ts'
import { exchangeRoutes, importJobsRoutes } from './exchange.ts'
import { experimentsRoutes, reproduceRoutes } from './experiments.ts'
import { foldersRoutes } from './folders.ts'
import { generateRoutes } from './generate.ts'
import { headJobsRoutes, headsRoutes } from './heads.ts'
import { answerError, guard, securityHeaders } from './http.ts'
import { benchRoutes, insideJobsRoutes, residualRoutes } from './inside.ts'
import { jobsRoutes } from './jobs.ts'
import { libraryRoutes } from './library.ts'
import { modelsRoutes } from './models.ts'
import { notebookRoutes } from './notebook.ts'
import { notesRoutes } from './notes.ts'
import { predictRoutes } from './predict.ts'
import { runsRoutes } from './runs.ts'
import { scansRoutes } from './scans.ts'
import { sqlRoutes } from './sql.ts'
import { staticFile } from './static.ts'
import { cacheRoutes, storeRoutes } from './store.ts'
import { tokenizeRoutes } from './tokenize.ts'
import { verifyRoutes } from './verify.ts'

/** Largest body that is read, in bytes: a prompt of a few million tokens. */
const LARGEST_BODY = 16 * 1024 * 1024

/** Makes the app. It listens to nothing: see serve.ts. */
export function createApp(deps: ApiDeps) {
  const app = new Hono()
  app.onError(answerError)
  app.use(securityHeaders())
  app.use(guard(deps.token))
  app.use(
    '/api/*',
    bodyLimit({
      maxSize: LARGEST_BODY,
      onError: () => {
        throw new HeadscopeError('bad-request', 'The request is larger than 16 MB: send a shorter prompt.')
      },
    }),
  )
  const routes = app
    .route('/api/about', aboutRoutes(deps))
    .route('/api/library', libraryRoutes(deps))
    .route('/api/models', modelsRoutes(deps))
    .route('/api/tokenize', tokenizeRoutes(deps))
    .route('/api/runs', runsRoutes(deps))
    .route('/api/scans', scansRoutes(deps))
    .route('/api/heads', headsRoutes(deps))
    .route('/api/jobs', headJobsRoutes(deps))
    .route('/api/residual', residualRoutes(deps))
    .route('/api/bench', benchRoutes(deps))
    .route('/api/jobs', insideJobsRoutes(deps))
    .route('/api/exchange', exchangeRoutes(deps))
    .route('/api/jobs', importJobsRoutes(deps))
    .route('/api/experiments', experimentsRoutes(deps))
    .route('/api/analyses', analysesRoutes(deps))
    .route('/api/edit-stacks', editStacksRoutes(deps))
    .route('/api/reproduce', reproduceRoutes(deps))
    .route('/api/jobs', jobsRoutes(deps))
    .route('/api/predict', predictRoutes(deps))
    .route('/api/generate', generateRoutes(deps))
    .route('/api/verify', verifyRoutes(deps))
    .route('/api/folders', foldersRoutes(deps))
    .route('/api/sql', sqlRoutes(deps))
    .route('/api/notes', notesRoutes(deps))
    .route('/api/notebook', notebookRoutes(deps))
    .route('/api/store', storeRoutes(deps))
    .route('/api/cache', cacheRoutes(deps))

  app.all('/api/*', (c) => {
    throw new HeadscopeError('not-found', `The API has no ${c.req.method} ${c.req.path}.`)
  })
  app.get('*', async (c) => {
    // The path as it was sent: Hono's own is decoded once already.
    const file = await staticFile(deps.rendererDir, new URL(c.req.url).pathname)
    if (file.status !== 200) return c.text(file.message, file.status)
    return c.body(file.body, 200, { 'content-type': file.type, 'cache-control': file.cache })
  })
  return routes
}

/** For `hc<AppType>()`: every route with its input and output. */
export type AppType = ReturnType<typeof createApp>
