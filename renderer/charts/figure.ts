/**
 * Any figure of the app as it leaves the app. In: what is drawn, what it says, where it comes from, its numbers. Out: one
 * SVG with title, axes in words, provenance; the same as PNG; CSV. Figures are for paper: always the light colours.
 */
import type { ReproduceRequest } from '../../core/api/contract.ts'
import { csv, type Table } from './csv.ts'
import { escapeXml, type FigureBody, INK, PALE, textAt } from './svg.ts'

/** A figure that a menu can take out. Everything costly is asked for when it is used. */
export interface Figure {
  /** Without the checkpoint's name: “attention pattern of L1H7”. */
  readonly title: string
  /** What rows, columns, axes and colours are. */
  readonly note: string
  readonly body: () => FigureBody | Promise<FigureBody>
  readonly table: () => Table
  /** n, seed, metric, definition: one line each, below the figure. */
  readonly facts?: readonly string[]
  /** Of the weights, of random tokens or of other texts: the selected run says nothing about it. */
  readonly ofModel?: boolean
  /** Where it comes from, where that is not the selected checkpoint and run. */
  readonly source?: Source | (() => Promise<Source>)
  /** What gives the same numbers outside the app; null: nothing does. */
  readonly reproduce: ReproduceRequest | null
}

/** Where a figure's numbers come from. */
export interface Source {
  readonly checkpoints: readonly { readonly name: string; readonly hash: string | null }[]
  /** null: of the weights, of random tokens, or of many texts. */
  readonly run: {
    readonly id: number | null
    readonly text: string | null
    readonly tokens: number
    readonly device: string
    /** The interventions, in words. */
    readonly edits: readonly string[]
  } | null
}

/** A figure that has been drawn. */
export interface DrawnFigure {
  readonly title: string
  readonly provenance: readonly string[]
  readonly svg: string
  readonly width: number
  readonly height: number
}

const PROMPT = 240 // characters of a prompt that are printed
const MARGIN = 12

/** The lines below a figure. */
export function provenanceLines(source: Source, facts: readonly string[], version: string): string[] {
  const { checkpoints, run } = source
  const models = checkpoints.map(({ name, hash }) => `${name} (${hash?.slice(0, 12) ?? 'not hashed yet'})`)
  const what = [
    `checkpoint ${models.join(' and ')}`,
    run ? `${run.id === null ? '' : `run ${run.id}, `}${run.tokens} tokens, float32 on ${run.device}` : '',
    `Headscope ${version}`,
  ]
  const text = run?.text ?? null
  return [
    what.filter(Boolean).join(' · '),
    ...(text === null ? [] : [`prompt “${text.length > PROMPT ? `${text.slice(0, PROMPT)}…` : text}”`]),
    ...(run && run.edits.length > 0 ? [`with edits: ${run.edits.join('; ')}`] : []),
    ...facts.filter((fact) => fact !== ''),
  ]
}

/** Draws a figure with its title, axes in words and provenance. */
export async function drawFigure(figure: Figure, source: Source, version: string): Promise<DrawnFigure> {
  const body = await figure.body()
  const title = `${source.checkpoints.map(({ name }) => name).join(' and ')}: ${figure.title}`
  const provenance = provenanceLines(source, figure.facts ?? [], version)
  const width = Math.ceil(Math.max(560, body.width + 2 * MARGIN))
  const room = width - 2 * MARGIN
  const parts: string[] = []
  let y = MARGIN
  const lines = (text: string, size: number, fill: string, weight?: number) => {
    for (const line of wrapped(text, Math.floor(room / (size * 0.54)))) {
      y += size * 1.3
      parts.push(textAt(MARGIN, y, line, { size, fill, sans: true, ...(weight ? { weight } : {}) }))
    }
  }
  lines(title, 14, INK, 600)
  lines(figure.note, 10.5, PALE)
  y += 12
  parts.push(`<g transform="translate(${MARGIN} ${Math.round(y)})">${body.markup}</g>`)
  y += body.height + 8
  for (const line of provenance) lines(line, 9, PALE)
  const height = Math.ceil(y + MARGIN)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="11" fill="${INK}">
<title>${escapeXml(title)}</title>
<desc>${escapeXml([figure.note, ...provenance].join('\n').replaceAll('\n', ' · '))}</desc>
<rect width="100%" height="100%" fill="#fff"/>
${parts.join('\n')}
</svg>
`
  return { title, provenance, svg, width, height }
}

/** Its numbers as CSV. */
export function figureCsv(figure: Figure): string {
  return csv(figure.table())
}

/** Lines of at most `most` characters, broken at spaces where there are any. Line ends are drawn, not obeyed. */
export function wrapped(text: string, most: number): string[] {
  const lines: string[] = []
  let rest = text.replaceAll(/\r?\n/g, '⏎')
  while (rest.length > most) {
    const space = rest.lastIndexOf(' ', most)
    const cut = space > most / 2 ? space : wholeAt(rest, most)
    lines.push(rest.slice(0, cut))
    rest = rest.slice(cut).trimStart()
  }
  if (rest !== '') lines.push(rest)
  return lines
}

/** A cut that leaves surrogate pairs whole. */
function wholeAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at
}
