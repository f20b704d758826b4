/** Help as text. In: commands. Out: what `headscope help` and `headscope COMMAND --help` print. */
import type { Command, Option, Options } from './command.ts'
import { COMMON } from './options.ts'
import type { Style } from './style.ts'

/** One line per command, and how to go on. */
export function overview(commands: readonly Command[], { bold, dim }: Style): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    `${bold('headscope')} opens a transformer checkpoint, runs it with hooks, and looks at its heads.`,
    '',
    `${bold('Usage')}  headscope COMMAND … [options]`,
    '',
    ...commands.flatMap(({ name, summary, examples }) => [
      `  ${bold(name.padEnd(width))}  ${summary}`,
      `  ${' '.repeat(width)}  ${dim(`$ ${examples[0]}`)}`,
    ]),
    '',
    'MODEL is a checkpoint folder, or the name of a bundled model (induction-2l; ./name is the folder of that name).',
    '`headscope COMMAND --help` tells more. Every command takes --json and --progress always|never.',
  ].join('\n')
}

/** All about one command. */
export function commandHelp(command: Command, { bold, dim }: Style): string {
  const { name, usage, summary, detail, examples, options } = command
  return [
    `${bold('Usage')}  headscope ${name} ${usage}`.trimEnd(),
    '',
    `${summary}${/[.!?]$/.test(summary) ? '' : '.'}${detail ? ` ${detail}` : ''}`,
    '',
    bold(examples.length > 1 ? 'Examples' : 'Example'),
    ...examples.map((example) => `  ${dim('$')} ${example}`),
    '',
    bold('Options'),
    ...rows({ ...options, ...COMMON }),
  ].join('\n')
}

// --- Internal helpers ---

function rows(options: Options): string[] {
  const names = Object.entries(options).map(([name, option]) => [flag(name, option), option.help] as const)
  const width = Math.max(...names.map(([name]) => name.length))
  return names.map(([name, help]) => `  ${name.padEnd(width)}  ${help}`)
}

function flag(name: string, { type, value, multiple }: Option): string {
  const shown = type === 'flag' ? `--${name}` : `--${name} ${value ?? (type === 'text' ? 'TEXT' : 'N')}`
  return multiple ? `${shown} …` : shown
}
