/** `headscope sql STORE "select …"`: a question to a workspace, which cannot change it. Costs what the query costs. */
import { command, UsageError } from '../command.ts'
import { printable, table } from '../table.ts'

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
  },
  takes: [2, 2],
  abrupt: true,
  async run({ values, positionals, out }) {
    const [file, question] = positionals as [string, string]
    const { limit = Number.POSITIVE_INFINITY } = values
    if (limit < 1) throw new UsageError(`--limit is ${limit}, but must be 1 or more`)
    const [{ storePath }, { openForQueries, readRows }] = await Promise.all([
      import('../store.ts'),
      import('../../store/read-only-sql.ts'),
    ])
    const path = storePath({ store: file === '-' ? undefined : file, 'no-store': false })!
    const { db, close } = openForQueries(path)
    try {
      const { columns, rows, truncated } = readRows(db, question, limit)
      if (out.json) {
        out.document({ columns, rows, ...(truncated ? { truncated } : {}), warnings: [] })
        return 0
      }
      const numbers = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number'))
      const cells = rows.map((row) =>
        row.map((value) => (value === null ? { text: 'null', paint: out.style.dim } : shown(value))),
      )
      const titles = columns.map((title, i) => ({ title, right: numbers[i]! }))
      for (const line of table(titles, cells, out.style.bold)) out.line(line)
      const count = `${rows.length} row${rows.length === 1 ? '' : 's'}`
      out.line(out.style.dim(truncated ? `${count}, and more` : count))
      return 0
    } finally {
      close()
    }
  },
})

// --- Internal helpers ---

/** One line per row, whatever the text holds. */
function shown(value: string | number): string {
  return printable(String(value).replaceAll('\n', '⏎').replaceAll('\t', ' '))
}
