/**
 * Files in and out. GET /api/exchange?what=12&format=npz gives a stored run or experiment as a download; POST
 * /api/jobs/import makes a capture file a stored run.
 */
import { createReadStream, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { Hono } from 'hono'
import type { ExportRequest, ImportRequest, JobStarted } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body, query } from './http.ts'
import { exportQuery, importBody } from './schemas-inside.ts'

export function exchangeRoutes({ compute }: ApiDeps) {
  return new Hono().get('/', query(exportQuery), async (c) => {
    const request: ExportRequest = c.req.valid('query')
    const { folder, file } = await compute.call('exportFile', request, { signal: c.req.raw.signal })
    const remove = () => rmSync(folder, { recursive: true, force: true })
    try {
      const { size } = statSync(file)
      const stream = createReadStream(file).once('close', remove)
      return new Response(Readable.toWeb(stream) as ReadableStream, {
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(size),
          'content-disposition': `attachment; filename="${basename(file)}"`,
        },
      })
    } catch (error) {
      remove()
      throw error
    }
  })
}

export function importJobsRoutes({ catalogue, compute, jobs }: ApiDeps) {
  return new Hono().post('/import', body<ImportRequest>(importBody), (c) => {
    const { model, file } = c.req.valid('json')
    const folder = catalogue.folder(model)
    const job = jobs.start(`importing ${basename(file)}`, (options) =>
      compute.call('importFile', { model: folder, file }, options),
    )
    return c.json<JobStarted>({ job })
  })
}
