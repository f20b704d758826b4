/** POST /api/sql {sql}: a read-only query over the workspace, at most 1,000 rows. */
import { Hono } from 'hono'
import type { SqlReply, SqlRequest } from './contract.ts'
import type { ApiDeps } from './deps.ts'
import { body } from './http.ts'
import { sqlBody } from './schemas.ts'

export function sqlRoutes({ workspace }: ApiDeps) {
  return new Hono().post('/', body<SqlRequest>(sqlBody), async (c) =>
    c.json<SqlReply>(await workspace.sql(c.req.valid('json').sql, c.req.raw.signal)),
  )
}
