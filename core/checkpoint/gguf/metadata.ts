/**
 * Settings of a model from the metadata of its file.
 * In: the pairs of a head, the architecture's prefix. Out: checked values by short key ("block_count" stands for
 * "llama.block_count"), or one sentence that names the key. What was never asked for can be listed.
 */
import { HeadscopeError } from '../../errors.ts'
import { shorten, show } from '../json.ts'
import type { GgufHeader, GgufValue } from './header.ts'

export interface Settings {
  /** Whole number of 1 or more. @throws HeadscopeError when it is missing or another value */
  count(key: string): number
  /** The same, or null when the key is not there. */
  maybeCount(key: string): number | null
  /** Finite number, or null when the key is not there. A float32 comes as the shortest decimal that it stands for. */
  maybeNumber(key: string): number | null
  maybeFlag(key: string): boolean | null
  maybeText(key: string): string | null
  /** A switch for each layer, also written as a period n: every n-th layer is off. Null when the key is not there. */
  maybePattern(key: string, layers: number): readonly boolean[] | null
  has(key: string): boolean
  /** Whether the file holds this tensor. */
  holds(tensor: string): boolean
  /** Keys with the prefix that no call above named. */
  unread(): string[]
}

/** Keys that describe the file and change nothing. */
const DESCRIPTIVE = /\.(vocab_size|feed_forward_length|attention\.(key|value)_length|tensor_data_layout)$/

/** Reads the keys of an architecture by type; each throws `bad-checkpoint` naming the key. */
export function settingsOf(header: GgufHeader, architecture: string): Settings {
  const { metadata, label } = header
  const asked = new Set<string>()
  const get = (key: string): GgufValue | undefined => {
    const full = `${architecture}.${key}`
    asked.add(full)
    return metadata.get(full)
  }
  const bad = (key: string, value: GgufValue | undefined, must: string) =>
    new HeadscopeError(
      'bad-checkpoint',
      `${label}: the metadata key ${architecture}.${key} ${value === undefined ? 'is missing' : `is ${showValue(value)}`}, but must be ${must}; convert or download the file again.`,
    )
  const WHOLE = 'a whole number of 1 or more'
  const maybeCount = (key: string): number | null => {
    const value = get(key)
    if (value === undefined) return null
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw bad(key, value, WHOLE)
    return value
  }
  return {
    count(key) {
      const value = maybeCount(key)
      if (value === null) throw bad(key, undefined, WHOLE)
      return value
    },
    maybeCount,
    maybeNumber(key) {
      const value = get(key)
      if (value === undefined) return null
      if (typeof value !== 'number' || !Number.isFinite(value)) throw bad(key, value, 'a finite number')
      return shortest(value)
    },
    maybeFlag(key) {
      const value = get(key)
      if (value === undefined) return null
      if (typeof value !== 'boolean') throw bad(key, value, 'true or false')
      return value
    },
    maybeText(key) {
      const value = get(key)
      if (value === undefined) return null
      if (typeof value !== 'string') throw bad(key, value, 'a text')
      return value
    },
    maybePattern(key, layers) {
      const value = get(key)
      if (value === undefined) return null
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) {
        return Array.from({ length: layers }, (_, layer) => layer % value !== value - 1)
      }
      if (Array.isArray(value) && value.length === layers) return value.map((on) => Boolean(on))
      throw bad(key, value, `a whole number of 1 or more or a list of ${layers} switches, one for each layer`)
    },
    has: (key) => get(key) !== undefined,
    holds: (tensor) => header.tensors.has(tensor),
    unread: () =>
      [...metadata.keys()].filter(
        (key) => key.startsWith(`${architecture}.`) && !asked.has(key) && !DESCRIPTIVE.test(key),
      ),
  }
}

/** A metadata value for a message. */
export function showValue(value: GgufValue | undefined): string {
  if (Array.isArray(value)) return `a list of ${value.length} values`
  return typeof value === 'bigint' ? shorten(String(value)) : show(value)
}

/** 1e-5 for 9.999999747378752e-06: configs are written in decimal, and a float32 stands for the decimal. */
function shortest(value: number): number {
  if (Math.fround(value) !== value) return value
  for (let digits = 1; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits))
    if (Math.fround(decimal) === value) return decimal
  }
  return value
}
