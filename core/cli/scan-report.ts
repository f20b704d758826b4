/** A scan as text. In: its result. Out: an aligned table with intervals, the strongest heads, and the definitions. */
import type { HeadScores, ScanResult, Score } from '../analysis/types.ts'
import { headName } from '../graph/hook-names.ts'
import type { Output } from './output.ts'
import { type Cell, type Column, table } from './table.ts'

/** How many heads are named as the strongest of a score. */
const STRONGEST = 5
/** Scores side by side, at most, and what one takes: 0.00 [0.00, 0.00]. */
const COLUMNS = 5
const SCORE_WIDTH = 20
/** The name of a head and what stands behind it. */
const HEAD_WIDTH = 8

/** One row per head. */
export function reportScan(out: Output, { heads, settings, loss, ofModel = {} }: ScanResult): void {
  const { style } = out
  const { batch, length, bos, seed } = settings
  const drawn = seed === null ? 'given ids' : `random tokens, seed ${seed}`
  const losses =
    loss.first === null || loss.second === null
      ? ''
      : `; loss ${loss.first.toFixed(2)} on the first copy, ${loss.second.toFixed(2)} on the second`
  out.line(
    style.dim(`${batch} sequences of ${length} tokens twice${bos ? ' after BOS' : ''} (${drawn})${losses}`),
  )
  // Wide tables come in parts, so that no line breaks on a terminal.
  const fits = out.columns === null ? COLUMNS : Math.floor((out.columns - HEAD_WIDTH) / SCORE_WIDTH)
  const beside = Math.max(1, Math.min(COLUMNS, fits))
  for (let first = 0; first < settings.scores.length; first += beside) {
    const names = settings.scores.slice(first, first + beside)
    out.line()
    const columns: Column[] = [{ title: 'head' }]
    for (const name of names) columns.push({ title: titleOf(name) })
    const rows = heads.map(({ layer, head, scores }) => [
      { text: headName(layer, head), paint: style.bold },
      ...names.map((name) => cell(out, scores[name]!)),
    ])
    for (const line of table(columns, rows, style.bold)) out.line(line)
  }
  out.line()
  for (const [name, score] of Object.entries(ofModel)) {
    const { text } = cell(out, score)
    out.line(`${style.dim('whole model')} ${titleOf(name).padEnd(14)} ${text}`)
  }
  for (const name of settings.scores)
    out.line(`${style.dim('strongest')} ${titleOf(name).padEnd(16)} ${strongest(heads, name, STRONGEST)}`)
}

/** One line of a series: the strongest head of each score. */
export function scanLine(out: Output, title: string, { heads, settings, loss }: ScanResult): void {
  const best = settings.scores
    .map((name) => `${titleOf(name)} ${strongest(heads, name, 1).padEnd(9)}`)
    .join('  ')
  const second = loss.second === null ? '' : `  loss on the second copy ${loss.second.toFixed(2)}`
  out.line(`${out.style.bold(title.padEnd(24))}  ${best}${second}`)
}

/** What the scores mean, and reasons for those that do not exist. */
export function footnotes(out: Output, { definitions, heads, ofModel = {} }: ScanResult): void {
  out.line()
  for (const [name, text] of Object.entries(definitions)) out.line(out.style.dim(`${titleOf(name)}: ${text}`))
  const every = [...heads.map(({ scores }) => scores), ofModel]
  const reasons = new Set(every.flatMap((scores) => Object.values(scores).flatMap(({ why }) => why ?? [])))
  for (const why of reasons) out.line(out.style.dim(`– ${why}`))
}

// --- Internal helpers ---

function titleOf(name: string): string {
  return name.replaceAll('_', ' ')
}

function cell({ style }: Output, { value, low, high }: Score): Cell {
  if (value === null) return { text: '–' }
  const number = fixed(value)
  const interval = low === null || high === null ? '' : ` [${fixed(low)}, ${fixed(high)}]`
  return { text: `${number}${interval}`, paint: () => `${style.weight(number, value)}${style.dim(interval)}` }
}

/** Two places; no minus before a zero. */
function fixed(value: number): string {
  return value.toFixed(2).replace(/^-0\.00$/, '0.00')
}

function strongest(heads: readonly HeadScores[], name: string, count: number): string {
  return heads
    .flatMap(({ layer, head, scores }) => {
      const value = scores[name]?.value ?? null
      return value === null ? [] : [{ head: headName(layer, head), value }]
    })
    .sort((a, b) => b.value - a.value)
    .slice(0, count)
    .map(({ head, value }) => `${head} ${value.toFixed(2)}`)
    .join(', ')
}
