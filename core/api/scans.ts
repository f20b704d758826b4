/** GET /api/scans?model=: the newest stored scan of this checkpoint (by the content of its weights), or 404. */
import { Hono } from 'hono'
import { z } from 'zod'
import { HeadscopeError } from '../errors.ts'
import type { ScanReply } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { query } from './http.ts'
import { model } from './schemas.ts'

export function scansRoutes({ catalogue, compute, workspace }: ApiDeps) {
  return new Hono().get('/', query(z.object({ model })), async (c) => {
    const folder = catalogue.folder(c.req.valid('query').model)
    const { hash } = await compute.call('hash', { model: folder }, { signal: c.req.raw.signal })
    const scan = workspace.newestScan(hash)
    if (!scan) throw new HeadscopeError('not-found', `${catalogue.nameOf(folder)} has not been scanned yet.`)
    return c.json<ScanReply>({ ...scan, model: catalogue.nameOf(folder) })
  })
}
