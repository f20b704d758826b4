/** Ranked rows with one or more bars each, with intervals, as a figure. In: rows. Out: SVG; a value that does not exist has no bar. */
import { type FigureBody, INK, LINE, PALE, rectAt, round, textAt } from './svg.ts'

export interface BarValue {
  readonly value: number | null
  readonly low?: number | null
  readonly high?: number | null
}

export interface BarRow {
  readonly name: string
  readonly values: readonly BarValue[]
  /** Drawn paler: within the noise. */
  readonly pale?: boolean
}

const FILLS = ['#4e86dd', '#53a79c'] as const
const [NAME, BAR, NUMBER, LINE_HEIGHT] = [110, 260, 64, 17]
/** More rows than this are a table, not a figure. */
const MOST = 120

/** `most`: the value of a full bar. With negative values the zero is in the middle. */
export function barsBody(series: readonly string[], rows: readonly BarRow[], most: number): FigureBody {
  const shown = rows.slice(0, MOST)
  const signed = rows.some(({ values }) => values.some(({ value }) => (value ?? 0) < 0))
  const group = BAR + NUMBER + 24
  const x = (at: number, value: number) => {
    const t = most === 0 ? 0 : Math.max(-1, Math.min(1, value / most))
    return NAME + at * group + (signed ? (BAR / 2) * (1 + t) : BAR * Math.max(0, t))
  }
  const parts = series.map((name, i) =>
    textAt(NAME + i * group, 12, name, { sans: true, weight: 600, size: 10.5 }),
  )
  shown.forEach(({ name, values, pale }, r) => {
    const y = 22 + r * LINE_HEIGHT
    parts.push(textAt(NAME - 8, y + 9, name, { anchor: 'end', size: 10.5, fill: pale ? PALE : INK }))
    values.forEach(({ value, low, high }, i) => {
      const end = NAME + i * group + BAR
      parts.push(rectAt(NAME + i * group, y, BAR, 11, '#f1f3f6'))
      if (value !== null) {
        const [from, to] = [x(i, Math.min(0, value)), x(i, Math.max(0, value))]
        const fill = value < 0 ? '#ca4333' : FILLS[i % FILLS.length]!
        parts.push(rectAt(from, y, to - from, 11, fill, pale ? { rest: 'fill-opacity="0.45"' } : {}))
      }
      if (low != null && high != null) {
        const middle = y + 5.5
        parts.push(
          `<path d="M ${round(x(i, low))} ${middle - 3} v 6 m 0 -3 H ${round(x(i, high))} m 0 -3 v 6" stroke="${INK}" stroke-width="1" fill="none"/>`,
        )
      }
      parts.push(textAt(end + 6, y + 9, value === null ? '–' : digits(value), { size: 10 }))
    })
  })
  const bottom = 22 + shown.length * LINE_HEIGHT + 12
  series.forEach((_, i) => {
    const [low, high] = [NAME + i * group, NAME + i * group + BAR]
    parts.push(
      `<line x1="${low}" x2="${high}" y1="${bottom - 12}" y2="${bottom - 12}" stroke="${LINE}"/>`,
      textAt(low, bottom, signed ? `−${short(most)}` : '0', { fill: PALE, size: 9.5 }),
      textAt(high, bottom, short(most), { anchor: 'end', fill: PALE, size: 9.5 }),
    )
  })
  if (rows.length > MOST)
    parts.push(
      textAt(NAME, bottom + 14, `the first ${MOST} of ${rows.length}`, { fill: PALE, sans: true, size: 9.5 }),
    )
  return { width: NAME + series.length * group, height: bottom + 18, markup: parts.join('\n') }
}

/** Three digits; small numbers with their power of ten. */
function digits(value: number): string {
  const text = value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : value.toPrecision(3)
  return text.replaceAll('-', '−')
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)))
}
