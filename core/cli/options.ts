/**
 * Arguments → typed values. In: a command's option table and argv. Out: values and positionals, or one sentence about
 * the wrong argument. A value may begin with a dash (`--pos -1`); only another option's name may not be a value.
 */
import { parseArgs } from 'node:util'
import { type Command, type Option, type Options, UsageError } from './command.ts'
import { nearest } from './nearest.ts'

/** Options that every command has. */
export const COMMON = {
  json: { type: 'flag', help: 'one JSON document on stdout' },
  progress: {
    type: 'text',
    value: 'WHEN',
    choices: ['auto', 'always', 'never'],
    help: 'progress on stderr: always, never, or auto (on a terminal)',
  },
  help: { type: 'flag', help: 'what this command does, with an example' },
} as const satisfies Options

/** Which model of a series, and how it is run. */
export const MODEL_OPTIONS = {
  at: { type: 'text', value: 'STEP', help: 'which checkpoint of a series, e.g. step512' },
} as const satisfies Options

export const ENGINE_OPTIONS = {
  threads: { type: 'whole', value: 'N', help: 'threads of each computation (default: all cores)' },
  device: {
    type: 'text',
    value: 'NAME',
    help: 'cpu (default), webgpu, cuda, coreml or dml, where the runtime offers it',
  },
} as const satisfies Options

export const PROMPT_OPTIONS = {
  text: { type: 'text', value: '"…"', multiple: true, help: 'a prompt; repeat for a batch' },
  ids: { type: 'text', value: '5,9,2', multiple: true, help: 'a prompt as token ids; repeat for a batch' },
  prompts: { type: 'text', value: 'FILE', help: '.txt, one a line; or .jsonl with "text" or "ids"' },
  bos: {
    type: 'text',
    value: 'WHEN',
    choices: ['auto', 'yes', 'no'],
    implied: 'yes',
    help: 'beginning-of-text token before a text (default: as the tokenizer says)',
  },
} as const satisfies Options

/** Which of two texts a token is of, where a model asks for that (BERT). */
export const TYPES_OPTION = {
  'token-types': {
    type: 'text',
    value: '0,0,1',
    multiple: true,
    help: 'token types of a prompt (BERT), one list a prompt, a type for each token (default: 0)',
  },
} as const satisfies Options

/** The decoder's own text, where a model reads the prompt with an encoder. */
export const DECODER_OPTIONS = {
  'decoder-text': {
    type: 'text',
    value: '"…"',
    multiple: true,
    help: "the decoder's own text, one a prompt (default: its start token alone)",
  },
  'decoder-ids': {
    type: 'text',
    value: '0,5,9',
    multiple: true,
    help: "the decoder's own ids, start token included, one list a prompt",
  },
} as const satisfies Options

export const EDIT_OPTION = {
  edit: { type: 'text', value: 'JSON', multiple: true, help: 'an intervention; repeat for several' },
} as const satisfies Options

export const PAIR_OPTIONS = {
  clean: { type: 'text', value: '"…"', help: 'the clean prompt' },
  corrupt: { type: 'text', value: '"…"', help: 'the corrupt prompt, of as many tokens' },
  'clean-ids': { type: 'text', value: '5,9,2', help: 'the clean prompt as token ids' },
  'corrupt-ids': { type: 'text', value: '5,8,2', help: 'the corrupt prompt as token ids' },
  'clean-decoder': {
    type: 'text',
    value: '"…"',
    help: "where a decoder reads an encoder: the decoder's clean text; --clean is then the encoder's",
  },
  'corrupt-decoder': {
    type: 'text',
    value: '"…"',
    help: "the decoder's corrupt text; left out, the clean one",
  },
  'clean-decoder-ids': { type: 'text', value: '0,5,9', help: 'the same as ids, start token included' },
  'corrupt-decoder-ids': { type: 'text', value: '0,5,8', help: 'the same as ids' },
  bos: PROMPT_OPTIONS.bos,
} as const satisfies Options

export const METRIC_OPTIONS = {
  metric: {
    type: 'text',
    value: 'JSON',
    help: '{"kind": "logit_diff", "answer": A, "wrong": B, "pos": -1}; also logit, logprob, prob, loss, kl',
  },
  answer: { type: 'text', value: '" Mary"', help: 'for logit_diff: the right next token' },
  wrong: { type: 'text', value: '" John"', help: 'for logit_diff: the wrong one' },
  'answer-id': { type: 'whole', value: 'ID', help: 'the same as ids' },
  'wrong-id': { type: 'whole', value: 'ID', help: 'the same as ids' },
} as const satisfies Options

export const SWEEP_OPTIONS = {
  resume: {
    type: 'whole',
    value: 'ID',
    help: 'go on with this stored experiment; its prompts and settings count',
  },
} as const satisfies Options

export const STORE_OPTIONS = {
  store: { type: 'text', value: 'FILE', help: 'workspace that keeps the result (default: the user’s)' },
  'no-store': { type: 'flag', help: 'keep nothing' },
} as const satisfies Options

/** Of a command that keeps nothing anyway, so that a script may give --no-store to every one. */
export const UNSTORED_OPTIONS = {
  'no-store': { type: 'flag', help: 'keep nothing: this command never does' },
} as const satisfies Options

/** Reads the arguments of a command. Throws UsageError in one sentence. */
export function readArguments(
  command: Command,
  argv: readonly string[],
): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  const options: Options = { ...command.options, ...COMMON }
  const { values, positionals } = parse(command, options, joinValues(argv, options))
  const [least, most] = command.takes
  if (values.help !== true) {
    if (positionals.length < least)
      throw new UsageError(
        `${command.name} needs ${command.usage.split(' [')[0]}, but got ${given(positionals.length)}`,
      )
    if (positionals.length > most) refuseValue(positionals[most]!, argv, options)
    if (positionals.length > most)
      throw new UsageError(
        `${command.name} takes ${most === 0 ? 'no argument' : `${most} argument${most === 1 ? '' : 's'}`}, so ${JSON.stringify(positionals[most])} is one too many`,
      )
  }
  return {
    values: Object.fromEntries(
      Object.entries(options).map(([name, o]) => [name, read(name, o, values[name])]),
    ),
    positionals,
  }
}

// --- Internal helpers ---

type Raw = string | boolean | (string | boolean)[] | undefined

/** Marks an argument that is no option though it begins with a dash; no argument of a process can hold it. */
const PLAIN = '\0'

/** What stands behind an option that may stand alone and is none of its choices was meant for it. */
function refuseValue(surplus: string, argv: readonly string[], options: Options): void {
  const before = argv[argv.lastIndexOf(surplus) - 1]
  const name = before?.startsWith('--') ? before.slice(2) : ''
  if (Object.hasOwn(options, name) && options[name]!.implied !== undefined)
    readOne(name, options[name]!, surplus)
}

/** `--name value` → `--name=value`, so that a value with a dash in front is a value. */
function joinValues(argv: readonly string[], options: Options): string[] {
  const joined: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i]!
    if (/^-+\s/.test(argument)) {
      joined.push(PLAIN + argument) // SQL that begins with a comment, a sum that begins with a minus
      continue
    }
    if (argument === '--') return [...joined, ...argv.slice(i)]
    const name = argument.slice(2)
    const option = argument.startsWith('--') && Object.hasOwn(options, name) ? options[name]! : null
    if (option === null || option.type === 'flag') {
      joined.push(argument)
      continue
    }
    const value = argv[i + 1]
    if (option.implied !== undefined && !option.choices?.includes(value ?? '')) {
      joined.push(`${argument}=${option.implied}`)
      continue
    }
    const isOption = value?.startsWith('--') && Object.hasOwn(options, value.slice(2).split('=')[0]!)
    if (value === undefined || value === '--' || isOption)
      throw new UsageError(`--${name} needs a value: --${name} ${option.value ?? 'VALUE'}`)
    joined.push(`${argument}=${value}`)
    i++
  }
  return joined
}

function parse(command: Command, options: Options, args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      strict: true,
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { type, multiple = false }]) => [
          name,
          {
            type: type === 'flag' ? ('boolean' as const) : ('string' as const),
            multiple,
            ...(name === 'help' ? { short: 'h' } : {}),
          },
        ]),
      ),
    })
    const plain = positionals.map((one) => (one.startsWith(PLAIN) ? one.slice(PLAIN.length) : one))
    return { values: values as Record<string, Raw>, positionals: plain }
  } catch (error) {
    throw new UsageError(explain(command, options, args, error as Error))
  }
}

function explain(command: Command, options: Options, args: readonly string[], error: Error): string {
  const code = (error as Error & { code?: string }).code
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const name = /'(-{1,2}[^'=]+)/.exec(error.message)?.[1] ?? args.find((a) => a.startsWith('-')) ?? ''
    const near = nearest(name.replace(/^-+/, ''), Object.keys(options))
    return `${command.name} has no option ${name}${near ? `; did you mean --${near}?` : ''}`
  }
  const name = /'(?:-\w, )?--([\w-]+)/.exec(error.message)?.[1]
  if (name && options[name]?.type === 'flag') return `--${name} takes no value`
  return error.message.split('\n')[0]!.replace(/\.$/, '')
}

function read(name: string, option: Option, value: Raw): unknown {
  if (option.multiple) return ((value ?? []) as string[]).map((one) => readOne(name, option, one))
  if (option.type === 'flag') return value === true
  return value === undefined ? undefined : readOne(name, option, value as string)
}

function readOne(name: string, { type, choices }: Option, value: string): string | number {
  if (choices && !choices.includes(value))
    throw new UsageError(`--${name} is one of ${choices.join(', ')}, not ${JSON.stringify(value)}`)
  if (type === 'text') return value
  const number = value.trim() === '' ? Number.NaN : Number(value)
  if (!Number.isFinite(number) || (type === 'whole' && !Number.isInteger(number)))
    throw new UsageError(
      `--${name} needs a ${type === 'whole' ? 'whole ' : ''}number, not ${JSON.stringify(value)}`,
    )
  return number
}

function given(count: number): string {
  return count === 0 ? 'none' : `only ${count}`
}
