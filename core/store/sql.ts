/**
 * SQL that a server thread can ask: the query runs in a child process, which is ended when it takes too long or is
 * cancelled (SQLite offers no other way here: this build has no progress callback). In: path and SQL. Out: rows.
 * The child only reads, so ending it harms nothing. Cost: about 0.1 s for the first query, then one message each way;
 * the child stays for 30 s after the last query of its workspace.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { HeadscopeError } from '../errors.ts'
import type { SqlResult } from './read-only-sql.ts'

export interface QueryOptions {
  /** Most rows to return (default 1,000); `truncated` says that there were more. */
  readonly limit?: number
  /** Milliseconds until the query is ended (default 10,000). */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** How long a child without work is kept, in ms. */
const IDLE = 30_000

const idleChildren = new Map<string, { child: ChildProcess; timer: NodeJS.Timeout }>()

/**
 * Runs one statement that only reads: select, with, values, explain, or a reading pragma. Throws `bad-request` for
 * SQL that writes, is wrong or takes longer than the limit, `cancelled` on the signal, and what `openStore` throws.
 */
export async function query(path: string, sql: string, options: QueryOptions = {}): Promise<SqlResult> {
  const { limit = 1000, timeoutMs = 10_000, signal } = options
  const cancelled = () => new HeadscopeError('cancelled', 'The query was cancelled.')
  if (signal?.aborted) throw cancelled()
  const child = takeChild(path)
  let stop: (() => void) | undefined
  try {
    const reply = await new Promise<Reply>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new HeadscopeError(
              'bad-request',
              `The query was ended after ${timeoutMs / 1000} s; ask for less, for example one run or one head.`,
            ),
          ),
        timeoutMs,
      )
      const abort = () => reject(cancelled())
      const exit = () =>
        reject(
          new HeadscopeError(
            'internal',
            `${path}: the process that runs SQL ended before it answered; ask again.`,
          ),
        )
      signal?.addEventListener('abort', abort, { once: true })
      child.once('message', resolve)
      child.once('exit', exit)
      child.once('error', reject)
      stop = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        child.removeAllListeners()
      }
      child.send({ path, sql, limit })
    })
    stop?.()
    giveBack(path, child)
    if ('error' in reply) throw new HeadscopeError(reply.error.code, reply.error.message)
    return reply
  } catch (error) {
    stop?.()
    if (idleChildren.get(path)?.child !== child) child.kill('SIGKILL')
    throw error
  }
}

/** Ends the children that wait for another query; for a clean shutdown. */
export function closeQueries(): void {
  for (const path of [...idleChildren.keys()]) dismiss(path)
}

// --- Internal helpers ---

type Reply =
  | SqlResult
  | { readonly error: { readonly code: HeadscopeError['code']; readonly message: string } }

function takeChild(path: string): ChildProcess {
  const waiting = idleChildren.get(path)
  if (waiting) {
    clearTimeout(waiting.timer)
    idleChildren.delete(path)
    if (waiting.child.connected) {
      waiting.child.ref()
      waiting.child.channel?.ref()
      return waiting.child
    }
  }
  return fork(new URL('./sql-child.ts', import.meta.url), {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
}

function giveBack(path: string, child: ChildProcess): void {
  if (!child.connected) return
  if (idleChildren.has(path)) {
    child.kill('SIGKILL') // two queries at once: one child is enough to keep
    return
  }
  const timer = setTimeout(() => dismiss(path), IDLE)
  timer.unref()
  child.unref() // it does not keep this process; it ends when the channel closes
  child.channel?.unref()
  idleChildren.set(path, { child, timer })
}

function dismiss(path: string): void {
  const waiting = idleChildren.get(path)
  if (!waiting) return
  clearTimeout(waiting.timer)
  idleChildren.delete(path)
  waiting.child.kill('SIGKILL')
}
