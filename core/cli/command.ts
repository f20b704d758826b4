/**
 * What a command is: a name, its options as data, and what it does. In: typed values of these options. Out: an exit
 * code. A command file imports only light things; the engine is loaded in `run`, so that help stays instant.
 */
import type { Progress } from '../checkpoint/types.ts'
import type { Output } from './output.ts'

export interface Option {
  readonly type: 'text' | 'whole' | 'number' | 'flag'
  readonly help: string
  /** Name of the value in help. */
  readonly value?: string
  readonly multiple?: boolean
  /** The only values that are allowed. */
  readonly choices?: readonly string[]
  /** The value when none of the choices follows. */
  readonly implied?: string
}

export type Options = Readonly<Record<string, Option>>

type One<O extends Option> = O['type'] extends 'flag' ? boolean : O['type'] extends 'text' ? string : number
/** A value per option; an option that was not given is undefined, false or []. */
export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends { multiple: true }
    ? readonly One<O[K]>[]
    : O[K]['type'] extends 'flag'
      ? boolean
      : One<O[K]> | undefined
}

/** Where the project's own things lie; known to the launcher only. */
export interface Place {
  readonly root: string
}

/** What a command is given. */
export interface Call<O extends Options = Options> {
  readonly values: string extends keyof O ? Readonly<Record<string, unknown>> : Values<O>
  readonly positionals: readonly string[]
  readonly place: Place
  readonly out: Output
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  /** Shows how far the work is, on a terminal. */
  progress(label: string): (progress: Progress) => void
}

export interface Command<O extends Options = Options> {
  readonly name: string
  /** What follows the name: 'MODEL PROMPTS [options]'. */
  readonly usage: string
  readonly summary: string
  /** A few more sentences for --help. */
  readonly detail?: string
  readonly examples: readonly string[]
  readonly options: O
  /** Positional arguments: at least, and at most. */
  readonly takes: readonly [least: number, most: number]
  /** Ctrl-C ends the process at once: for work that cannot be asked to stop and leaves nothing half done. */
  readonly abrupt?: boolean
  run(call: Call<O>): Promise<number>
}

/** Lets the options type the values of `run`. */
export function command<const O extends Options>(spec: Command<O>): Command {
  return spec as unknown as Command
}

/** Arguments that break the rules of the command line: exit 2. */
export class UsageError extends Error {}

/** A cancelled command that has something to say: what is done, and how to go on. */
export class Interrupted extends Error {}
