/** Read-only SQL over the workspace, with examples to begin with and the result as CSV. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api } from '../../api/client.ts'
import { csv } from '../../charts/csv.ts'
import { saveFile } from '../../ui/save-file.ts'
import { Choice } from '../../ui/select.tsx'

const EXAMPLES = [
  {
    value: 'heads',
    label: 'strongest heads of every scan',
    sql: "select layer, head, value, low, high, n from head_score where score = 'induction' order by value desc limit 20",
  },
  {
    value: 'edges',
    label: 'strongest edges of the newest run',
    sql: 'select layer, head, query, key, weight from edge where run = (select max(id) from run) order by weight desc limit 50',
  },
  {
    value: 'tables',
    label: 'tables and their columns',
    sql: "select m.name as 'table', group_concat(p.name, ', ') as columns from sqlite_master m join pragma_table_info(m.name) p where m.type = 'table' group by m.name",
  },
] as const

export function SqlConsole() {
  const [example, setExample] = useState<(typeof EXAMPLES)[number]['value']>('heads')
  const [sql, setSql] = useState<string>(EXAMPLES[0].sql)
  const query = useMutation({ mutationFn: api.sql })
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    query.mutate(sql)
  }
  const reply = query.data
  return (
    <section className="sql" aria-label="SQL">
      <form onSubmit={submit}>
        <h3 className="pane-title">
          SQL <span>read-only, at most 1,000 rows</span>
          <Choice
            label="Example queries"
            value={example}
            options={EXAMPLES}
            onChange={(next) => {
              setExample(next)
              setSql(EXAMPLES.find((e) => e.value === next)!.sql)
            }}
          />
        </h3>
        <textarea
          className="input editor-text"
          aria-label="SQL query"
          rows={3}
          spellCheck={false}
          value={sql}
          onChange={(event) => setSql(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
          }}
        />
        <p className="button-row">
          <button
            type="submit"
            className="button small primary"
            disabled={query.isPending || sql.trim() === ''}
          >
            {query.isPending ? 'Asking…' : 'Ask'} <kbd>Ctrl ↵</kbd>
          </button>
          {reply && (
            <button
              type="button"
              className="button small"
              onClick={() => saveFile('query', 'csv', csv(reply), 'text/csv')}
            >
              CSV
            </button>
          )}
          {reply && (
            <span className="muted small-text">
              {reply.rows.length} rows{reply.truncated ? '; there are more' : ''}
            </span>
          )}
          {query.isError && (
            <span className="problem" role="alert">
              {query.error.message}
            </span>
          )}
        </p>
      </form>
      {reply && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
        <section className="table-scroll" tabIndex={0} aria-label="Result">
          <table className="data-table">
            <thead>
              <tr>
                {reply.columns.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {reply.rows.map((row, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows of a result have no other name
                <tr key={i}>
                  {row.map((value, j) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: nor have columns
                    <td key={j} className={typeof value === 'number' ? 'number' : 'clip'}>
                      {value === null ? <i className="muted">null</i> : String(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  )
}
