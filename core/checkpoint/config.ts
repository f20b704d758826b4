/**
 * config.json and the rules that a family sets for its keys.
 * In: the file, a zod object schema made of the blocks below. Out: checked values, or one sentence that names the
 * key, the value and the rule.
 */
import { z } from 'zod'
import { HeadscopeError } from '../errors.ts'
import { readJsonFile } from './files.ts'
import { isObject, show } from './json.ts'
import type { RawConfig } from './types.ts'

/** Reads config.json: UTF-8 (a byte order mark is allowed), strict JSON, an object. */
export function readConfig(folder: string): RawConfig {
  const raw = readJsonFile(folder, 'config.json')
  if (isObject(raw)) return raw
  throw new HeadscopeError(
    'bad-checkpoint',
    `config.json holds ${show(raw)}, but must hold an object of settings; download it again.`,
  )
}

/** Whole number from 1 to `max`. */
export function count(max = 10_000): z.ZodType<number> {
  return rule<number>(
    (value) => wholeNumber(value) && value >= 1 && value <= max,
    `a whole number from 1 to ${max}`,
  )
}

/** Whole number from `min` to `max`, for keys where 0 or a negative number has a meaning. */
export function whole(min: number, max: number): z.ZodType<number> {
  return rule<number>(
    (value) => wholeNumber(value) && value >= min && value <= max,
    `a whole number from ${min} to ${max}`,
  )
}

/** Finite number above 0. */
export function positive(): z.ZodType<number> {
  return rule<number>((value) => finite(value) && value > 0, 'a finite number above 0')
}

/** Finite number, by default of any size. */
export function finiteNumber(
  min = Number.NEGATIVE_INFINITY,
  max = Number.POSITIVE_INFINITY,
): z.ZodType<number> {
  const bounds =
    min === Number.NEGATIVE_INFINITY && max === Number.POSITIVE_INFINITY ? '' : ` from ${min} to ${max}`
  return rule<number>((value) => finite(value) && value >= min && value <= max, `a finite number${bounds}`)
}

/** true or false. */
export function flag(): z.ZodType<boolean> {
  return rule<boolean>((value) => typeof value === 'boolean', 'true or false')
}

/** One of the given texts. */
export function oneOf<const T extends readonly string[]>(...names: T): z.ZodType<T[number]> {
  return rule<T[number]>(
    (value) => typeof value === 'string' && names.includes(value),
    `one of ${names.map((name) => JSON.stringify(name)).join(', ')}`,
  )
}

function wholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function finite(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function rule<T>(holds: (value: unknown) => boolean, words: string): z.ZodType<T> {
  return z.custom<T>(holds, { error: words })
}

/**
 * Checks a config against a family's schema. Keys that the schema does not name are left out of the result.
 * @throws HeadscopeError such as "config.json: n_layer is 2.5, but must be a whole number from 1 to 10000; …"
 */
export function parseConfig<T>(schema: z.ZodType<T>, raw: RawConfig, file = 'config.json'): T {
  const result = schema.safeParse(raw)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const value = valueAt(raw, issue.path)
  const key = issue.path.map(String).join('.')
  const found = value === undefined ? 'is missing' : `is ${show(value)}`
  const subject = key === '' ? file : `${file}: ${key}`
  const must = /^must /.test(issue.message) ? issue.message : `must be ${words(issue)}`
  throw new HeadscopeError('bad-checkpoint', `${subject} ${found}, but ${must}; correct it in ${file}.`)
}

function words(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `of the type ${issue.expected}`
  if (issue.code === 'invalid_value') return `one of ${issue.values.map((value) => show(value)).join(', ')}`
  return issue.code === 'custom' ? issue.message : `valid (${issue.message})`
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let value = raw
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}
