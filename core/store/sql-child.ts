/**
 * The process that runs SQL for sql.ts. In: {path, sql, limit}. Out: a result or {error}. Ends with its parent: a
 * query cannot be interrupted from inside its own thread, so a second thread watches whether the parent still lives.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { HeadscopeError, sentence } from '../errors.ts'
import { openForQueries, readRows } from './read-only-sql.ts'

/** How often the watching thread looks, in ms. */
const LOOK = 1000

if (isMainThread) serve()
else watchParent(process.ppid)

// --- Internal helpers ---

function serve(): void {
  new Worker(new URL(import.meta.url)).unref()
  let open: ({ path: string } & ReturnType<typeof openForQueries>) | undefined
  process.on('message', ({ path, sql, limit }: { path: string; sql: string; limit: number }) => {
    try {
      if (open?.path !== path) {
        open?.close()
        open = undefined
        open = { path, ...openForQueries(path) }
      }
      process.send!(readRows(open.db, sql, limit))
    } catch (error) {
      const code = error instanceof HeadscopeError ? error.code : 'internal'
      process.send!({ error: { code, message: sentence(error) } })
    }
  })
  process.on('disconnect', () => process.exit(0))
}

function watchParent(parent: number): void {
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  }, LOOK)
}
