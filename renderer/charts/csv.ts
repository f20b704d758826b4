/** Rows of plain values as CSV. In: column names, rows. Out: text; text fields are quoted, null is an empty field. Pure. */

export type CsvValue = string | number | null

export interface Table {
  readonly columns: readonly string[]
  /** Read once: millions of rows are made as they are written. */
  readonly rows: Iterable<readonly CsvValue[]>
}

/** Lines of CSV, the last one ended. */
export function csv(table: Table): string {
  return csvUpTo(table, Number.POSITIVE_INFINITY)!
}

/** The same, or null as soon as it is longer than `most` characters: millions of rows are not made for nothing. */
export function csvUpTo({ columns, rows }: Table, most: number): string | null {
  const field = (value: CsvValue) =>
    value === null ? '' : typeof value === 'number' ? String(value) : `"${value.replaceAll('"', '""')}"`
  const name = (column: string) => (/[",\n]/.test(column) ? field(column) : column)
  const lines = [columns.map(name).join(',')]
  let length = lines[0]!.length + 1
  for (const row of rows) {
    const line = row.map(field).join(',')
    length += line.length + 1
    if (length > most) return null
    lines.push(line)
  }
  return `${lines.join('\n')}\n`
}
