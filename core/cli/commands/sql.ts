/** `headscope sql STORE "select …"`: a question to a workspace, which cannot change it. Costs what the query costs. */
import { command, UsageError } from '../command.ts'
import { printable, table } from '../table.ts'

/** Long enough for a walk over the patterns of a large workspace. */
const SECONDS = 120

export const sql = command({
  name: 'sql',
  usage: 'STORE "select …" [options]',
  summary: 'Asks a workspace in SQL; it cannot be changed by this',
  detail:
    'STORE is a workspace file; - is the one in the user’s data folder. Tables: checkpoint, prompt, run, head_score and more; attention and residual are read as tables too.',
  examples: [
    'headscope sql - "select layer, head, value from head_score where score = \'induction\' order by value desc limit 5"',
    'headscope sql work.db "select name from sqlite_schema where type = \'table\'" --json',
  ],
  options: {
    limit: { type: 'whole', value: 'N', help: 'at most so many rows (default: all)' },
    seconds: { type: 'number', value: 'N', help: 'a query that takes longer is ended (default 120)' },
  },
  takes: [2, 2],
  async run({ values, positionals, out, signal }) {
    const [file, question] = positionals as [string, string]
    const { limit = Number.MAX_SAFE_INTEGER, seconds = SECONDS } = values
    if (limit < 1) throw new UsageError(`--limit is ${limit}, but must be 1 or more`)
    if (!(seconds > 0 && seconds <= 86_400))
      throw new UsageError(`--seconds is ${seconds}, but must be above 0 and at most 86400`)
    const [{ storePath }, { closeQueries, query }] = await Promise.all([
      import('../store.ts'),
      import('../../store/sql.ts'),
    ])
    const path = storePath({ store: file === '-' ? undefined : file, 'no-store': false })!
    try {
      const options = { limit, timeoutMs: seconds * 1000, signal }
      const { columns, rows, truncated } = await query(path, question, options)
      if (out.json) {
        out.document({ columns, rows, ...(truncated ? { truncated } : {}), warnings: [] })
        return 0
      }
      const numbers = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number'))
      const cells = rows.map((row) =>
        row.map((value) =>
          value === null ? { text: 'null', paint: out.style.dim } : shown(value, out.columns),
        ),
      )
      const titles = columns.map((title, i) => ({ title, right: numbers[i]! }))
      for (const line of table(titles, cells, out.style.bold)) out.line(line)
      const count = `${rows.length} row${rows.length === 1 ? '' : 's'}`
      out.line(out.style.dim(truncated ? `${count}, and more` : count))
      return 0
    } finally {
      closeQueries()
    }
  },
})

// --- Internal helpers ---

/** One line per row, whatever the text holds; a long text is cut on a terminal, and whole in a file or in --json. */
function shown(value: string | number, columns: number | null): string {
  const text = printable(String(value).replaceAll('\n', '⏎').replaceAll('\t', ' '))
  const most = Math.max(20, (columns ?? Number.POSITIVE_INFINITY) - 20)
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}
