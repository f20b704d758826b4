/**
 * What a command prints. In: text, a table or one JSON document. Out: stdout; warnings on stderr. A reader that goes
 * away (`| head -1`) ends the process quietly.
 */
import { writeSync } from 'node:fs'
import { versions } from '../run/versions.ts'
import { finite } from './finite.ts'
import { type Style, styleFor } from './style.ts'
import { printable } from './table.ts'

export interface Output {
  /** Whether one JSON document is wanted in place of text. */
  readonly json: boolean
  readonly style: Style
  /** Columns of the terminal; null where stdout is none. */
  readonly columns: number | null
  /** A line of text. */
  line(text?: string): void
  /** The one document, with the version in front; what is not finite becomes null with a `why`. */
  document(value: Readonly<Record<string, unknown>>): void
  /** One sentence each, on stderr. */
  warn(warnings: readonly string[]): void
}

/** The output of this process. */
export function createOutput(json: boolean): Output {
  const style = styleFor(process.stdout)
  const errors = styleFor(process.stderr)
  return {
    json,
    style,
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    line: (text = '') => void process.stdout.write(`${text}\n`),
    document(value) {
      const whole = finite({ headscope: versions.headscope, ...value })
      process.stdout.write(`${JSON.stringify(whole, null, process.stdout.isTTY ? 2 : 0)}\n`)
    },
    warn(warnings) {
      for (const warning of warnings)
        process.stderr.write(`${errors.yellow('warning:')} ${printable(warning)}\n`)
    },
  }
}

/** Ends the process without a word when nobody reads on, and with one sentence when the output cannot be written. */
export function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0)
      if (stream === process.stdout) writeSync(2, unwritten(error.code ?? error.message))
      process.exit(1)
    })
}

// --- Internal helpers ---

function unwritten(code: string): string {
  const why = code === 'ENOSPC' ? 'the disk is full' : code
  return `The output could not be written (${why}); free some space, or send it elsewhere.\n`
}
