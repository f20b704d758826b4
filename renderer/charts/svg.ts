/**
 * Pieces of SVG as text. In: text, colours, pixels. Out: markup in which any text is text. Pure, but for `pixelImage`,
 * which needs a canvas.
 */
import { rampPosition, signedColor, weightColor } from './color.ts'

/** A picture without its frame: markup in a box of its own, from (0, 0). */
export interface FigureBody {
  readonly width: number
  readonly height: number
  readonly markup: string
}

export const INK = '#1b2330'
export const PALE = '#667085'
export const LINE = '#d5dae2'
export const BLANK = '#f1f3f6'
/** A cell whose value does not exist; one that was not computed stays blank. */
export const UNDEFINED = '#a6aeb8'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Text as the content of an element or attribute. What XML cannot hold (control characters, halves of surrogate pairs)
 * or what would turn the line around (direction marks) is made visible.
 */
export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]/gu, (c) => {
      const code = c.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
    })
    .replaceAll(/[&<>"']/g, (c) => ENTITIES[c]!)
}

export interface TextStyle {
  readonly size?: number
  readonly fill?: string
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly weight?: number
  readonly sans?: boolean
  /** Centred on y instead of standing on it. */
  readonly middle?: boolean
  /** Turned upwards, to read from below. */
  readonly up?: boolean
}

/** One line of text. */
export function textAt(x: number, y: number, text: string, style: TextStyle = {}): string {
  const { size = 11, fill = INK, anchor = 'start', weight, sans, middle, up } = style
  const place = up
    ? `transform="translate(${round(x)} ${round(y)}) rotate(-90)"`
    : `x="${round(x)}" y="${round(y)}"`
  const rest = [
    sans ? 'font-family="sans-serif"' : '',
    weight ? `font-weight="${weight}"` : '',
    anchor === 'start' ? '' : `text-anchor="${anchor}"`,
    middle ? 'dominant-baseline="central"' : '',
  ]
    .filter(Boolean)
    .join(' ')
  return `<text ${place} font-size="${size}" fill="${fill}" xml:space="preserve" ${rest}>${escapeXml(text)}</text>`
}

/** A rectangle; `title` is what it says when pointed at. */
export function rectAt(
  x: number,
  y: number,
  width: number,
  height: number,
  fill: string,
  options: { readonly stroke?: string; readonly title?: string; readonly rest?: string } = {},
): string {
  const { stroke, title, rest = '' } = options
  const shape = `<rect x="${round(x)}" y="${round(y)}" width="${round(Math.max(0, width))}" height="${round(Math.max(0, height))}" fill="${fill}"${stroke ? ` stroke="${stroke}"` : ''} ${rest}`
  return title === undefined ? `${shape}/>` : `${shape}><title>${escapeXml(title)}</title></rect>`
}

/** Two decimals are finer than any printer. */
export function round(value: number): number {
  return Math.round(value * 100) / 100
}

const STEPS = 40

/** A legend of the weight's colours, 0 to 1. 200 × 12. */
export function rampLegend(
  x: number,
  y: number,
  options: { readonly log?: boolean; readonly ends?: readonly [string, string] } = {},
): string {
  const [low, high] = options.ends ?? (options.log ? ['≤ 0.0001', '1 (log)'] : ['0', '1'])
  return legend(x, y, low, high, (t) => weightColor('light', t))
}

/** A legend of signed values, from -most to +most; the colours are symmetric about 0. */
export function signedLegend(x: number, y: number, most: number): string {
  if (most === 0) return textAt(x, y + 9, 'no difference anywhere', { fill: PALE, sans: true })
  const end = most.toPrecision(3)
  return legend(x, y, `−${end}`, `+${end}`, (t) => signedColor('light', 2 * t - 1))
}

function legend(x: number, y: number, low: string, high: string, colour: (t: number) => string): string {
  const from = x + low.length * 6.8 + 4
  const strips = Array.from({ length: STEPS }, (_, i) =>
    rectAt(from + (i * 120) / STEPS, y, 120 / STEPS + 0.3, 10, colour(i / (STEPS - 1))),
  )
  return [
    textAt(from - 4, y + 9, low, { anchor: 'end' }),
    ...strips,
    rectAt(from, y, 120, 10, 'none', { stroke: LINE }),
    textAt(from + 124, y + 9, high),
  ].join('\n')
}

/** Pixels (ImageData's words) as one embedded picture of that many units; cells stay sharp. */
export function pixelImage(
  pixels: Uint32Array<ArrayBuffer>,
  columns: number,
  x: number,
  y: number,
  width: number,
  height: number,
): string {
  const rows = pixels.length / columns
  const canvas = document.createElement('canvas')
  canvas.width = columns
  canvas.height = rows
  canvas
    .getContext('2d')
    ?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0)
  return canvasImage(canvas, x, y, width, height, true)
}

/** A canvas as an embedded picture. */
export function canvasImage(
  canvas: HTMLCanvasElement,
  x: number,
  y: number,
  width: number,
  height: number,
  sharp: boolean,
): string {
  return `<image x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" preserveAspectRatio="none"${sharp ? ' style="image-rendering:pixelated"' : ''} href="${canvas.toDataURL('image/png')}"/>`
}

/** Pictures beside each other, each below its heading, `gap` apart. */
export function beside(
  bodies: readonly { readonly title: string; readonly body: FigureBody }[],
  gap = 28,
): FigureBody {
  const HEAD = bodies.some(({ title }) => title !== '') ? 20 : 0
  let x = 0
  const parts = bodies.map(({ title, body }) => {
    const at = x
    x += body.width + gap
    return `${title === '' ? '' : textAt(at, 12, title, { sans: true, weight: 600 })}<g transform="translate(${at} ${HEAD})">${body.markup}</g>`
  })
  return {
    width: Math.max(0, x - gap),
    height: HEAD + Math.max(0, ...bodies.map(({ body }) => body.height)),
    markup: parts.join('\n'),
  }
}

/** A picture under another. */
export function stacked(bodies: readonly FigureBody[], gap = 16): FigureBody {
  let y = 0
  const parts = bodies.map((body) => {
    const at = y
    y += body.height + gap
    return `<g transform="translate(0 ${at})">${body.markup}</g>`
  })
  return {
    width: Math.max(0, ...bodies.map((b) => b.width)),
    height: Math.max(0, y - gap),
    markup: parts.join('\n'),
  }
}

/** Colour of a weight on paper. */
export function paperWeight(weight: number, log = false): string {
  return weightColor('light', rampPosition(weight, log))
}
