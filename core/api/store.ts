/**
 * What the app takes on disk. GET /api/store: the workspace; POST /api/store/compact gives back the room of what was
 * deleted. GET /api/cache: working copies of weights; POST /api/cache/clear removes them.
 */
import { Hono } from 'hono'
import type { CacheReply, Compacted, Freed, StoreReply } from './contract.ts'
import type { ApiDeps } from './deps.ts'

export function storeRoutes({ compute, workspace }: ApiDeps) {
  return new Hono()
    .get('/', (c) => c.json<StoreReply>(workspace.use()))
    .post('/compact', async (c) => c.json<Compacted>(await compute.call('compact', {})))
}

export function cacheRoutes({ compute }: ApiDeps) {
  return new Hono()
    .get('/', async (c) => c.json<CacheReply>(await compute.call('cacheUse', {})))
    .post('/clear', async (c) => c.json<Freed>(await compute.call('clearCache', {})))
}
