/** Rows of plain values as CSV. In: column names, rows. Out: text; text fields are quoted, null is an empty field. Pure. */

export type CsvValue = string | number | null

export interface Table {
  readonly columns: readonly string[]
  /** Read once: millions of rows are made as they are written. */
  readonly rows: Iterable<readonly CsvValue[]>
}

/** Lines of CSV, the last one ended. */
export function csv({ columns, rows }: Table): string {
  const field = (value: CsvValue) =>
    value === null ? '' : typeof value === 'number' ? String(value) : `"${value.replaceAll('"', '""')}"`
  const name = (column: string) => (/[",\n]/.test(column) ? field(column) : column)
  const lines = [columns.map(name).join(',')]
  for (const row of rows) lines.push(row.map(field).join(','))
  return `${lines.join('\n')}\n`
}
