/**
 * A comparison as one HTML file that opens offline: no script, nothing loaded from elsewhere (its own policy forbids
 * both), token texts escaped. In: comparisons, a series, pictures of heads. Out: the file's text.
 */
import type { TokenView } from '../checkpoint/types.ts'
import { headName } from '../graph/hook-names.ts'
import { escaped, tableHtml } from './html.ts'
import type { PatternDifference } from './patterns.ts'
import { difference, distanceGrid, patternImage, seriesCurves } from './pictures.ts'
import type { Series } from './series.ts'
import type { Comparison, Delta, HeadPlace } from './types.ts'

export interface ReportModel {
  readonly name: string
  readonly path: string
  readonly family: string
  readonly hash: string
}

export interface ReportInput {
  readonly headscope: string // version
  readonly created: string
  readonly a: ReportModel
  readonly comparisons: readonly {
    readonly b: ReportModel
    readonly comparison: Comparison
    /** Tokens of each compared prompt. */
    readonly tokens: readonly (readonly TokenView[])[]
    /** Patterns of the heads that moved most, on one prompt. */
    readonly pictures: readonly (HeadPlace & { readonly pattern: PatternDifference })[]
  }[]
  readonly series?: Series
}

const STYLE = `body{font:14px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
h1,h2,h3{line-height:1.2}table{border-collapse:collapse;margin:.7rem 0}td,th{border:1px solid #ddd;padding:.2rem .5rem;text-align:left;vertical-align:top}
th{background:#f4f4f4}code{overflow-wrap:anywhere}small,.dim{color:#666}svg text{font:10px system-ui,sans-serif}
img{image-rendering:pixelated;border:1px solid #ddd;margin-right:.5rem}.t{white-space:pre-wrap}.t span{padding:0 1px}figure{display:inline-block;margin:0 1rem 1rem 0}.p{display:flex;gap:.5rem}.p small{display:block}`

/** Heads in the table of a report. */
const ROWS = 40
/** Prompts whose tokens are shown. */
const PROMPTS = 8

export function reportHtml(input: ReportInput): string {
  const { a, comparisons, series } = input
  const title = `${a.name} and ${comparisons.map(({ b }) => b.name).join(', ')}`
  const parts = [
    `<h1>${escaped(title)}</h1>`,
    `<p class="dim">Headscope ${escaped(input.headscope)}, ${escaped(input.created)}. Same prompts, same random sequences for all.</p>`,
    tableHtml(
      ['', 'model', 'family', 'content hash', 'path'],
      [['A', a] as const, ...comparisons.map(({ b }) => ['B', b] as const)].map(([role, model]) => [
        role,
        model.name,
        model.family,
        { html: `<code>${escaped(model.hash)}</code>` },
        { html: `<code>${escaped(model.path)}</code>` },
      ]),
    ),
    ...comparisons.flatMap((one) => section(one)),
    ...(series ? seriesSection(series) : []),
    ...definitions(input),
  ]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head><body>
${parts.join('\n')}
</body></html>
`
}

// --- Internal helpers ---

function section({ b, comparison, tokens, pictures }: ReportInput['comparisons'][number]): string[] {
  const { prediction, vocabulary, heads, moved, matches, warnings } = comparison
  const interval = prediction.kl_interval
  return [
    `<h2>A and ${escaped(b.name)}</h2>`,
    comparison.identical
      ? '<p>The weights are <strong>identical</strong> (equal content hashes).</p>'
      : '<p>The weights differ.</p>',
    ...(warnings.length > 0 ? [`<ul>${warnings.map((w) => `<li>${escaped(w)}</li>`).join('')}</ul>`] : []),
    ...(vocabulary.same
      ? []
      : [
          `<h3>Tokens that differ (${vocabulary.different})</h3>`,
          tableHtml(
            ['id', 'A', 'B'],
            vocabulary.examples.map(({ id, a, b }) => [String(id), a ?? '–', b ?? '–']),
          ),
        ]),
    '<h3>Predictions</h3>',
    `<p>KL(A‖B) ${number(prediction.kl)} nats a position${interval ? ` [${interval.low.toFixed(4)}, ${interval.high.toFixed(4)}]` : ''}; the same likeliest token at ${prediction.top1_agreement === null ? '–' : `${(100 * prediction.top1_agreement).toFixed(1)} %`} of ${prediction.positions} positions.${prediction.why ? ` ${escaped(prediction.why)}.` : ''}</p>`,
    ...prediction.prompts.slice(0, PROMPTS).map(({ kl }, i) => tokenLine(tokens[i] ?? [], kl)),
    ...(heads.length > 0 ? headSection(heads, moved) : []),
    ...patterns(pictures),
    ...(matches
      ? [
          '<h3>Heads matched by behaviour</h3>',
          tableHtml(
            ['A', 'B', 'similarity'],
            matches
              .slice(0, ROWS)
              .map(({ a, b, similarity }) => [
                headName(a.layer, a.head),
                headName(b.layer, b.head),
                similarity.toFixed(3),
              ]),
          ),
        ]
      : []),
  ]
}

function patterns(pictures: ReportInput['comparisons'][number]['pictures']): string[] {
  if (pictures.length === 0) return []
  return [
    '<h3>Patterns of the heads that changed most</h3>',
    `<p><small>On the first text, its first ${pictures[0]!.pattern.length} tokens. Rows are queries, columns keys. A and B: white 0, blue 1. B − A: blue more, red less, white 0, each to its own largest difference.</small></p>`,
    ...pictures.map(({ layer, head, pattern }) => {
      const name = headName(layer, head)
      const { length } = pattern
      const one = (values: Float32Array, of: string) =>
        `<div>${patternImage(values, length, 1, false, `${name} in ${of}`)}<small>${of}</small></div>`
      return `<figure><figcaption>${name}: A, B, B − A</figcaption><div class="p">${one(pattern.a, 'A')}${one(pattern.b, 'B')}${difference(pattern.difference, length, name)}</div></figure>`
    }),
  ]
}

function headSection(heads: Comparison['heads'], moved: Comparison['moved']): string[] {
  const scores = Object.keys(heads[0]!.deltas)
  const ranked = [...heads]
    .sort((x, y) => (y.pattern_distance ?? -1) - (x.pattern_distance ?? -1))
    .slice(0, ROWS)
  return [
    '<h3>Heads</h3>',
    distanceGrid(heads),
    moved.length === 0
      ? '<p>No head’s score moved beyond the noise of the sequences.</p>'
      : `<p>Moved beyond noise, largest first: ${moved
          .slice(0, 12)
          .map(
            ({ layer, head, score, delta }) => `${headName(layer, head)} ${escaped(score)} ${signed(delta)}`,
          )
          .join(', ')}.</p>`,
    tableHtml(
      ['head', 'pattern distance', ...scores.map((score) => `Δ ${score}`)],
      ranked.map(({ layer, head, pattern_distance: distance, pattern_interval: range, deltas }) => [
        headName(layer, head),
        distance === null
          ? '–'
          : `${distance.toFixed(3)}${range ? ` [${range.low.toFixed(3)}, ${range.high.toFixed(3)}]` : ''}`,
        ...scores.map((score) => deltaCell(deltas[score]!)),
      ]),
    ),
    '<p><small>Deltas in brackets are within the noise and not ranked.</small></p>',
  ]
}

function deltaCell({ value, low, high, clear, why }: Delta): string {
  if (value === null) return `– (${why ?? 'does not exist'})`
  const range = low === null || high === null ? '' : ` [${signed(low)}, ${signed(high)}]`
  return clear ? `${signed(value)}${range}` : `(${signed(value)}${range})`
}

/** Tokens shaded by KL at their position: red is where the two say something else next. */
function tokenLine(tokens: readonly TokenView[], kl: readonly (number | null)[]): string {
  const spans = tokens.map(({ text }, i) => {
    const value = kl[i] ?? null
    const share = value === null ? 0 : Math.min(1, value / 2)
    const title = value === null ? 'no KL' : `KL ${value.toFixed(4)} nats`
    return `<span title="${title}" style="background:rgba(178,24,43,${(0.7 * share).toFixed(2)})">${escaped(text)}</span>`
  })
  return `<p class="t">${spans.join('')}</p>`
}

function seriesSection(series: Series): string[] {
  return [
    '<h2>Series</h2>',
    seriesCurves(series),
    tableHtml(
      ['score', 'best head passes', 'at', 'after', 'head', 'value'],
      series.onsets.map(({ score, threshold, at, after, head, value, why }) => [
        score,
        String(threshold),
        at ?? `– (${why ?? ''})`,
        after ?? '–',
        head ? headName(head.layer, head.head) : '–',
        value && value.value !== null
          ? `${value.value.toFixed(3)}${value.low === null ? '' : ` [${value.low.toFixed(3)}, ${value.high!.toFixed(3)}]`}`
          : '–',
      ]),
    ),
    ...(series.broken.length > 0
      ? [
          '<h3>Members that are left out</h3>',
          tableHtml(
            ['member', 'why'],
            series.broken.map(({ at, error }) => [at, error]),
          ),
        ]
      : []),
  ]
}

function definitions({ comparisons }: ReportInput): string[] {
  const all = Object.assign({}, ...comparisons.map(({ comparison }) => comparison.definitions)) as Record<
    string,
    string
  >
  return [
    '<h2>What the numbers mean</h2>',
    `<dl>${Object.entries(all)
      .map(([name, text]) => `<dt><strong>${escaped(name)}</strong></dt><dd>${escaped(text)}</dd>`)
      .join('')}</dl>`,
  ]
}

function number(value: number | null): string {
  return value === null ? '–' : value.toFixed(4)
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`
}
