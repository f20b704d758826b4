/**
 * A pattern, or the difference of two, as a figure. In: patterns, tokens, display. Out: the cells as one embedded picture
 * with its labels as text; arcs over the text; the text itself, tinted; a table with a row per existing cell.
 */
import type { TokenView } from '../../core/checkpoint/types.ts'
import { type Pattern, weightAt } from '../api/pattern.ts'
import { layoutArcs, MOST_ARCS, strongestEdges } from './arcs.ts'
import { rampPosition, signedColor, signedInk, weightColor, weightInk } from './color.ts'
import type { Table } from './csv.ts'
import { paintDifference } from './difference-pixels.ts'
import { visibleLabels } from './labels.ts'
import { type Display, paintPattern } from './pattern-pixels.ts'
import type { Reading } from './reading.ts'
import {
  BLANK,
  type FigureBody,
  LINE,
  PALE,
  pixelImage,
  rampLegend,
  rectAt,
  round,
  signedLegend,
  textAt,
} from './svg.ts'

/** One picture: a pattern, or what it has more or less than `against`. */
export interface PatternPicture {
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly tokens: readonly TokenView[]
  readonly display: Display
}

const SIDE = 600
const LABEL = 150 // pixels for the tokens, at most

/** Rows are queries, columns keys. `side`: of the square of cells. */
export function patternBody(
  { pattern, against, tokens, display: shown }: PatternPicture,
  side = SIDE,
): FigureBody {
  const display: Display = { ...shown, theme: 'light' }
  const signed = against ? paintDifference(against, pattern, display) : null
  const { pixels, side: columns } = signed ?? paintPattern(pattern, display)
  const cell = side / pattern.size
  const longest = tokens.reduce((most, token) => Math.max(most, columnsOf(token.text)), 3)
  const edge = Math.round(Math.min(LABEL, longest * 6.2 + String(tokens.length).length * 6.2 + 18))
  const top = edge + 4
  const labels = visibleLabels(pattern.size, cell, 0, side, 12.5)
  const label = (i: number) => `${clipped(tokens[i]?.text ?? '', edge)} ${i}`
  const legendAt = top + side + 12
  const end = pattern.most ?? 1
  return {
    width: edge + side + 2,
    height: legendAt + 14,
    markup: [
      textAt(edge - 6, top - 22, 'key →', { anchor: 'end', fill: PALE }),
      textAt(edge - 6, top - 8, 'query ↓', { anchor: 'end', fill: PALE }),
      rectAt(edge, top, side, side, BLANK, { stroke: LINE }),
      pixelImage(pixels, columns, edge, top, side, side),
      ...labels.map((i) =>
        textAt(edge - 6, top + (i + 0.5) * cell, label(i), { anchor: 'end', middle: true, size: 10 }),
      ),
      ...labels.map((i) =>
        textAt(edge + (i + 0.5) * cell, top - 6, label(i), { up: true, middle: true, size: 10 }),
      ),
      signed
        ? signedLegend(edge, legendAt, signed.most)
        : rampLegend(edge, legendAt, {
            ends: [
              display.log ? `≤ ${short(end / 10_000)}` : '0',
              `${short(end)}${display.log ? ' (log)' : ''}`,
            ],
          }),
    ].join('\n'),
  }
}

const ARCS = { width: 1100, height: 240, labels: 96, most: 400 } as const

/** The strongest edges of one query, or of all, as arcs over the tokens. */
export function arcsBody(reading: Reading, tokens: readonly TokenView[], query: number | null): FigureBody {
  const edges = strongestEdges(reading, ARCS.most, query)
  return drawnArcs(
    tokens,
    edges,
    edges.map((edge) => Math.abs(edge.weight)),
    reading.signed ? edges.map((edge) => edge.weight < 0) : null,
  )
}

/** Arcs from a later token to an earlier one; thickness is the weight; misses (or what is less than before) dashed. */
export function drawnArcs(
  tokens: readonly TokenView[],
  pairs: readonly { readonly query: number; readonly target: number }[],
  weights: readonly number[],
  misses: readonly boolean[] | null,
): FigureBody {
  const pitch = Math.min(44, Math.max(4, ARCS.width / tokens.length))
  const arcs = layoutArcs(pairs, weights, pitch, ARCS.height)
  const width = tokens.length * pitch + 60
  const base = ARCS.height
  return {
    width,
    height: base + ARCS.labels,
    markup: [
      ...arcs.map((arc) => {
        const miss = misses?.[arc.index] ?? false
        return `<path d="${arc.path}" fill="none" stroke="${miss ? '#ca4333' : '#1b4fb0'}" stroke-width="${round(arc.width)}" stroke-opacity="${round(arc.opacity)}"${miss ? ' stroke-dasharray="4 3"' : ''}/>`
      }),
      `<line x1="0" x2="${round(tokens.length * pitch)}" y1="${base}" y2="${base}" stroke="${PALE}"/>`,
      ...visibleLabels(tokens.length, pitch, 0, tokens.length * pitch, 13).map((i) => {
        const text = textAt(0, 4, `${i} ${clipped(tokens[i]?.text ?? '', ARCS.labels)}`, { size: 10 })
        return `<g transform="translate(${round((i + 0.5) * pitch)} ${base + 10}) rotate(58)">${text}</g>`
      }),
      ...(pairs.length > MOST_ARCS
        ? [textAt(0, 12, `the strongest ${MOST_ARCS} of ${pairs.length}`, { fill: PALE, sans: true })]
        : []),
    ].join('\n'),
  }
}

const TEXT = { width: 760, char: 7.3, line: 24, size: 12 } as const

/** The text; blue behind a word: how much the query looks at it. Without a query: plain text. */
export function textBody(
  reading: Reading,
  tokens: readonly TokenView[],
  query: number | null,
  log: boolean,
): FigureBody {
  const parts: string[] = []
  let [x, y] = [0, 0]
  tokens.forEach((token, i) => {
    const width = columnsOf(token.text) * TEXT.char + 4
    if (x > 0 && x + width > TEXT.width) [x, y] = [0, y + TEXT.line]
    const value = query === null ? null : reading.at(query, i)
    const t =
      value === null
        ? null
        : reading.signed
          ? value / (reading.most || 1)
          : rampPosition(value / (reading.most || 1), log)
    if (t !== null) {
      const fill = reading.signed ? signedColor('light', t) : weightColor('light', t)
      parts.push(rectAt(x, y, width, TEXT.line - 5, fill, { title: `${query} → ${i}: ${value}` }))
    }
    if (i === query) parts.push(rectAt(x, y, width, TEXT.line - 5, 'none', { stroke: '#d9730d' }))
    const dark = t !== null && (reading.signed ? signedInk('light', t) : weightInk('light', t)) === '#fff'
    const later = query !== null && value === null && i !== query
    parts.push(
      textAt(x + 2, y + 14, token.text, {
        size: TEXT.size,
        fill: dark ? '#fff' : later ? '#98a2b3' : '#19212e',
      }),
    )
    x += width
  })
  const bottom = y + TEXT.line + 6
  const legend =
    query === null
      ? ''
      : reading.signed
        ? signedLegend(0, bottom, reading.most)
        : rampLegend(0, bottom, { log })
  return { width: TEXT.width, height: bottom + 16, markup: [...parts, legend].join('\n') }
}

/** `query,query_token,key,key_token` and a column for each pattern: a row per cell that exists. Left out: empty. */
export function patternTable(
  patterns: readonly { readonly name: string; readonly pattern: Pattern }[],
  tokens: readonly TokenView[],
): Table {
  return {
    columns: ['query', 'query_token', 'key', 'key_token', ...patterns.map(({ name }) => name)],
    rows: cells(
      patterns.map(({ pattern }) => pattern),
      tokens,
    ),
  }
}

function* cells(patterns: readonly Pattern[], tokens: readonly TokenView[]) {
  const { size } = patterns[0]!
  const whole = patterns.some(({ layout }) => layout === 'full')
  for (let q = 0; q < size; q++) {
    for (let k = 0; k <= (whole ? size - 1 : q); k++) {
      const values = patterns.map((pattern) => {
        const value = weightAt(pattern, q, k)
        return Number.isNaN(value) ? null : value
      })
      yield [q, tokens[q]?.text ?? '', k, tokens[k]?.text ?? '', ...values]
    }
  }
}

// --- Internal helpers ---

/** Columns of a text in a font of fixed pitch: the wide scripts take two. */
function columnsOf(text: string): number {
  let columns = 0
  for (const char of text)
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}]/u.test(
        char,
      )
        ? 2
        : 1
  return columns
}

function clipped(text: string, room: number): string {
  const most = Math.max(4, Math.floor((room - 30) / 6.1))
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)))
}
