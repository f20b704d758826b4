/**
 * A query in a process of its own. In: the workspace's path and a statement. Out: its rows. SQLite cannot be
 * interrupted from outside, and a query without an end must not take the server with it: this process can be killed.
 * Costs about 60 ms to start.
 */
import { spawn } from 'node:child_process'
import { text as readAll } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type ErrorCode, HeadscopeError } from '../errors.ts'
import type { SqlReply } from './contract.ts'
import { toApiError } from './http.ts'
import { openReadOnlySql } from './read-only-sql.ts'

/** How long a query may take, in ms. */
export const SQL_LIMIT = 30_000

type Answer = { reply: SqlReply } | { error: { code: ErrorCode; message: string } }

/** Asks. Throws `bad-request` with SQLite's words or when the time is over, `cancelled` when `signal` says so. */
export async function askSql(
  path: string,
  sql: string,
  { signal, limit = SQL_LIMIT }: { signal?: AbortSignal; limit?: number } = {},
): Promise<SqlReply> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let late = false
  const kill = () => child.kill('SIGKILL')
  const timer = setTimeout(() => {
    late = true
    kill()
  }, limit)
  signal?.addEventListener('abort', kill)
  try {
    child.stdin.on('error', () => {}) // it may be gone before it has read everything
    child.stdin.end(sql)
    const failed = new Promise<never>((_, reject) => child.once('error', reject))
    const output = await Promise.race([readAll(child.stdout), failed])
    if (signal?.aborted) throw new HeadscopeError('cancelled', 'This was cancelled.')
    if (late) {
      throw new HeadscopeError(
        'bad-request',
        `The query took longer than ${limit / 1000} s and was stopped: narrow it with where or limit.`,
      )
    }
    if (output === '') throw new HeadscopeError('internal', 'The query’s process ended without an answer.')
    const answer = JSON.parse(output) as Answer
    if ('reply' in answer) return answer.reply
    throw new HeadscopeError(answer.error.code, answer.error.message)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', kill)
  }
}

/** The other side: one statement from stdin, one answer to stdout. */
async function answer(path: string): Promise<Answer> {
  const sql = await readAll(process.stdin)
  try {
    const db = openReadOnlySql(path)
    try {
      return { reply: db.query(sql) }
    } finally {
      db.close()
    }
  } catch (error) {
    return toApiError(error)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(JSON.stringify(await answer(process.argv[2]!)))
}
