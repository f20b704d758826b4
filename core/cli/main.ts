/**
 * The command line: chooses a command, reads its options, runs it. In: arguments. Out: an exit code (0 done, 1 bad
 * input, 2 wrong usage, 3 a failed check, 130 cancelled), and one sentence on stderr for what went wrong.
 */
import { HeadscopeError, isCancelled, sentence } from '../errors.ts'
import { type Command, Interrupted, type Place, UsageError } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, overview } from './help.ts'
import { nearest } from './nearest.ts'
import { readArguments } from './options.ts'
import { createOutput, endOnBrokenPipe, type Output } from './output.ts'
import { createProgressLine } from './progress.ts'
import { listenForSignals } from './signals.ts'
import { styleFor } from './style.ts'
import { printable } from './table.ts'

export const EXIT = { done: 0, badInput: 1, usage: 2, failed: 3, cancelled: 130 } as const

/** Runs one command. Never throws. */
export async function main(argv: readonly string[], place: Place): Promise<number> {
  endOnBrokenPipe()
  const [name, ...rest] = argv
  const out = createOutput(false)
  if (name === undefined || ['help', '--help', '-h'].includes(name)) return help(rest[0], out)
  if (['version', '--version', '-v'].includes(name)) {
    const { versions } = await import('../run/versions.ts')
    out.line(versions.headscope)
    return EXIT.done
  }
  const command = COMMANDS.find((one) => one.name === name)
  return command ? run(command, rest, place) : unknown(name)
}

// --- Internal helpers ---

function help(name: string | undefined, out: Output): number {
  if (name === undefined || name.startsWith('-')) {
    out.line(overview(COMMANDS, out.style))
    return EXIT.done
  }
  const command = COMMANDS.find((one) => one.name === name)
  if (!command) return unknown(name)
  out.line(commandHelp(command, out.style))
  return EXIT.done
}

async function run(command: Command, argv: readonly string[], place: Place): Promise<number> {
  const signals = command.abrupt ? null : listenForSignals()
  let progress = createProgressLine('never')
  try {
    const { values, positionals } = readArguments(command, argv)
    const out = createOutput(values.json === true)
    if (values.help === true) return help(command.name, out)
    progress = createProgressLine((values.progress as string | undefined) ?? 'auto')
    const signal = signals?.signal ?? new AbortController().signal
    return await command.run({
      values,
      positionals,
      place,
      out: clearing(out, progress.clear),
      signal,
      progress: progress.report,
    })
  } catch (error) {
    progress.clear()
    if (!signals?.signal.aborted && !isCancelled(error)) return failed(command, error)
    say(
      error instanceof Interrupted
        ? error.message
        : 'Cancelled; nothing of this command was stored: run it again to do it.',
    )
    return signals?.code ?? EXIT.cancelled
  } finally {
    progress.clear()
    signals?.stop()
  }
}

/** Takes the progress line away before anything is printed. */
function clearing(out: Output, clear: () => void): Output {
  const after =
    <A extends unknown[]>(print: (...args: A) => void) =>
    (...args: A) => {
      clear()
      print(...args)
    }
  return { ...out, line: after(out.line), document: after(out.document), warn: after(out.warn) }
}

function failed(command: Command, error: unknown): number {
  if (error instanceof UsageError) {
    say(`${error.message.replace(/[.?]?$/, (end) => end || '.')}`)
    process.stderr.write(`See headscope ${command.name} --help.\n`)
    return EXIT.usage
  }
  if (error instanceof HeadscopeError) say(error.message)
  else {
    say(`Headscope met a defect of its own: ${sentence(error)}`)
    if (process.env.HEADSCOPE_DEBUG) console.error(error)
  }
  return EXIT.badInput
}

function unknown(name: string): number {
  const near = nearest(name, [...COMMANDS.map((command) => command.name), 'help'])
  say(`There is no command ${JSON.stringify(name)}${near ? `; did you mean ${near}?` : '.'}`)
  process.stderr.write('See headscope help.\n')
  return EXIT.usage
}

/** One sentence, on one line. */
function say(text: string): void {
  const { red } = styleFor(process.stderr)
  process.stderr.write(`${red(printable(text.replace(/\s*\n\s*/g, ' ')))}\n`)
}
