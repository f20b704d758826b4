/**
 * The notebook as one HTML file that opens offline: no script, nothing loaded (its own policy forbids both). Each figure is
 * a picture of its own, embedded, so that nothing inside it can act on the page; notes, tokens, titles and numbers are text.
 * In: pinned figures, in order. Out: the file's text.
 */
import { escaped, tableHtml } from '../compare/html.ts'
import type { StoredFigure } from '../store/figures.ts'
import { parseCsv } from './parse-csv.ts'

export interface NotebookInput {
  readonly headscope: string // version
  readonly created: string // ISO time
  readonly figures: readonly Omit<StoredFigure, 'id' | 'bytes'>[]
}

/** Rows of numbers that are shown; the file behind the link has all. */
const ROWS = 500

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1a2230}
h1,h2{line-height:1.25}h2{margin:0 0 .4rem}section{border-top:1px solid #d5dae2;padding:1.4rem 0}
img{max-width:100%;height:auto;display:block;margin:.6rem 0}.note{border-left:3px solid #4e86dd;padding-left:.8rem}
.from,small{color:#5c677a;font-size:13px}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f6f9;padding:.6rem;font-size:12.5px}
code{overflow-wrap:anywhere}table{border-collapse:collapse;font-size:12.5px}td,th{border:1px solid #ddd;padding:.1rem .5rem;text-align:left}th{background:#f4f4f4}
details{margin:.5rem 0}summary{cursor:pointer}.scroll{overflow:auto;max-height:24rem}nav ol{padding-left:1.4rem}
@media print{section{break-inside:avoid}details{display:none}}`

/** Makes the file. Costs the size of its figures. */
export function notebookHtml({ headscope, created, figures }: NotebookInput): string {
  const title = 'Notebook'
  const contents = figures.map(({ title: name }, i) => `<li><a href="#f${i + 1}">${escaped(name)}</a></li>`)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${title}</title><style>${STYLE}</style></head><body>
<h1>${title}</h1>
<p class="from">${figures.length} ${figures.length === 1 ? 'figure' : 'figures'} · Headscope ${escaped(headscope)}, ${escaped(created)}</p>
${contents.length > 1 ? `<nav aria-label="Figures"><ol>${contents.join('')}</ol></nav>` : ''}
${figures.map(section).join('\n')}
</body></html>
`
}

// --- Internal helpers ---

function section(figure: NotebookInput['figures'][number], index: number): string {
  const { title, svg, csv, provenance, state, command, script, note, created } = figure
  const name = fileName(title)
  return [
    `<section id="f${index + 1}">`,
    `<h2>${escaped(title)}</h2>`,
    note.trim() === '' ? '' : `<div class="note">${paragraphs(note)}</div>`,
    `<img alt="${escaped(title)}" src="${dataUrl('image/svg+xml', svg)}">`,
    `<p class="from">${provenance.map(escaped).join('<br>')}<br>pinned ${escaped(created)}</p>`,
    `<p><small>Save: <a download="${name}.svg" href="${dataUrl('image/svg+xml', svg)}">figure (SVG)</a>${csv === null ? '' : ` · <a download="${name}.csv" href="${dataUrl('text/csv', csv)}">numbers (CSV)</a>`}</small></p>`,
    csv === null
      ? '<p class="from">Its numbers are more rows than a notebook keeps; the command or script below gives them.</p>'
      : numbers(csv),
    `<details><summary>The same again</summary><p class="from">State of the app: put this behind its address.</p><pre>#${lines(state)}</pre>${command === null ? '' : `<p class="from">Command</p><pre>${lines(command)}</pre>`}${script === null ? '' : `<p class="from">Script</p><pre>${lines(script)}</pre>`}</details>`,
    '</section>',
  ]
    .filter(Boolean)
    .join('\n')
}

function numbers(csv: string): string {
  const [titles = [], ...rows] = parseCsv(csv, ROWS + 2)
  const shown = rows.slice(0, ROWS)
  const more = rows.length > ROWS ? `<p class="from">The first ${ROWS} rows; the CSV file has all.</p>` : ''
  return `<details><summary>Numbers</summary><div class="scroll">${tableHtml(titles, shown)}</div>${more}</details>`
}

/** Line ends stay line ends; everything else of a text is as `escaped` shows it. */
function lines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => escaped(line.replaceAll('\t', '  ')))
    .join('\n')
}

function paragraphs(text: string): string {
  return text
    .trim()
    .split(/(?:\r?\n){2,}/)
    .map((part) => `<p>${lines(part).replaceAll('\n', '<br>')}</p>`)
    .join('')
}

function dataUrl(type: string, text: string): string {
  return `data:${type};base64,${Buffer.from(text, 'utf8').toString('base64')}`
}

function fileName(title: string): string {
  return title.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'figure'
}
