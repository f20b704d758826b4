/** Aligned columns for a terminal. */

export interface Column {
  readonly title: string
  /** Numbers stand at the right. */
  readonly right?: boolean
}

export interface Cell {
  readonly text: string
  /** Colours the padded text. */
  readonly paint?: (text: string) => string
}

/** Lines of a table: titles, then rows. `paintTitle` colours the first line. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (string | Cell)[])[],
  paintTitle: (text: string) => string = (text) => text,
): string[] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)))
  const widths = columns.map(({ title }, i) =>
    Math.max(width(title), ...cells.map((row) => width(row[i]?.text ?? ''))),
  )
  const line = (row: readonly Cell[]) =>
    columns
      .map(({ right }, i) => {
        const { text, paint = (t: string) => t } = row[i] ?? { text: '' }
        const pad = ' '.repeat(Math.max(0, widths[i]! - width(text)))
        const last = i === columns.length - 1
        const shown = text === '' ? '' : paint(text)
        return right ? pad + shown : shown + (last ? '' : pad)
      })
      .join('  ')
      .trimEnd()
  return [line(columns.map(({ title }) => ({ text: title, paint: paintTitle }))), ...cells.map(line)]
}

/** Columns that a text takes: East Asian wide characters and emoji take two. */
export function width(text: string): number {
  let columns = 0
  for (const character of text) {
    const code = character.codePointAt(0)!
    if (/\p{Mn}|\p{Cf}/u.test(character)) continue
    const wide =
      (code >= 0x1100 && code <= 0x115f) ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0x1f300 && code <= 0x1faff)
    columns += wide ? 2 : 1
  }
  return columns
}

/** 1234567 → 1,234,567. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US')
}

/** 1 run, 2 runs. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}

/** A size in bytes for a person. */
export function bytes(count: number): string {
  for (const [unit, size] of [
    ['GB', 1e9],
    ['MB', 1e6],
    ['KB', 1e3],
  ] as const)
    if (count >= size) return `${(count / size).toPrecision(3)} ${unit}`
  return `${count} bytes`
}

/** Text that cannot steer a terminal: control characters but line feeds and tabs become visible. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `<${character.codePointAt(0)!.toString(16).padStart(2, '0').toUpperCase()}>`,
  )
}
