/** Colour and weight of text on a terminal; plain everywhere else, and where NO_COLOR is set. */
import type { WriteStream } from 'node:tty'

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly red: (text: string) => string
  /** Text in a shade of blue for a weight from 0 to 1. */
  readonly weight: (text: string, value: number) => string
}

const same = (text: string) => text
const PLAIN: Style = { bold: same, dim: same, green: same, yellow: same, red: same, weight: same }

const sgr = (code: string) => (text: string) => `\x1b[${code}m${text}\x1b[0m`

/** Blues of the 256-colour palette, pale to strong. */
const BLUES = [75, 39, 33]

const COLOURED: Style = {
  bold: sgr('1'),
  dim: sgr('2'),
  green: sgr('32'),
  yellow: sgr('33'),
  red: sgr('31'),
  weight(text, value) {
    if (!(value >= 0.05)) return sgr('2')(text)
    if (value < 0.2) return text
    const shade = BLUES[Math.min(2, Math.floor(((value - 0.2) / 0.8) * 3))]!
    return sgr(value >= 0.5 ? `1;38;5;${shade}` : `38;5;${shade}`)(text)
  },
}

/** The style that a stream can show. */
export function styleFor(stream: Pick<WriteStream, 'isTTY'>, env: NodeJS.ProcessEnv = process.env): Style {
  const colour = stream.isTTY && !env.NO_COLOR && env.TERM !== 'dumb'
  return colour ? COLOURED : PLAIN
}
