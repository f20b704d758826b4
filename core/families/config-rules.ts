/** Rules between config keys that families share, each with its sentence. */
import type { ZodType } from 'zod'
import { count } from '../checkpoint/config.ts'
import { HeadscopeError } from '../errors.ts'
import type { Activation } from '../graph/model-spec.ts'

/** A width, a vocabulary, a number of positions: any whole number; whether the tensors agree is checked on the file. */
export function size(): ZodType<number> {
  return count(Number.MAX_SAFE_INTEGER)
}

/** Names that configs give to activations, and what they compute in the reference implementation. */
const ACTIVATIONS = new Map<string, Activation>([
  ['relu', 'relu'],
  ['gelu', 'gelu'],
  ['gelu_python', 'gelu'],
  ['gelu_new', 'gelu_tanh'],
  ['gelu_fast', 'gelu_tanh'],
  ['gelu_pytorch_tanh', 'gelu_tanh'],
  ['silu', 'silu'],
  ['swish', 'silu'],
])

/** Throws `unsupported` for an activation that is not known, naming the known ones. */
export function activationOf(key: string, name: string): Activation {
  const found = ACTIVATIONS.get(name)
  if (found) return found
  throw new HeadscopeError(
    'unsupported',
    `config.json: ${key} is "${name}", which is not one of ${[...ACTIVATIONS.keys()].join(', ')}; this checkpoint cannot be run exactly, so it is not opened.`,
  )
}

/** Throws `bad-checkpoint` unless `part` divides `whole`. */
export function divides(partKey: string, part: number, wholeKey: string, whole: number): void {
  if (whole % part === 0) return
  throw new HeadscopeError(
    'bad-checkpoint',
    `config.json: ${partKey} ${part} does not divide ${wholeKey} ${whole}; correct them in config.json.`,
  )
}

/** Throws `unsupported` when a switch that changes the maths is on. */
export function refuse(on: boolean, key: string, why: string): void {
  if (!on) return
  throw new HeadscopeError(
    'unsupported',
    `config.json: ${key} is on, but ${why}; this checkpoint cannot be run exactly, so it is not opened.`,
  )
}
