/**
 * A family's wishes meet the tensors of a file.
 * In: the tensors of a checkpoint, a plan with canonical names. Out: entries by canonical name, shapes and formats
 * checked; what the model does not use becomes a warning, and is never an input.
 */
import { HeadscopeError } from '../errors.ts'
import { requireFloat } from './dtypes.ts'
import { shorten } from './json.ts'
import type { BoundTensors, Checkpoint, TensorEntry, TensorPlan, WantedTensor } from './types.ts'

/** Unused tensors that get a warning of their own; more become one sentence with a count. */
const NAMED_EXTRAS = 5

/**
 * Finds every wanted tensor, with or without the family's prefixes.
 * @throws HeadscopeError for a missing tensor, a shape that does not fit, a tensor that is there under two names,
 * or a format that is not floating point
 */
export function bindTensors(
  checkpoint: Pick<Checkpoint, 'tensors' | 'fileName'>,
  plan: TensorPlan,
): BoundTensors {
  const { tensors, fileName } = checkpoint
  const prefixes = pickPrefixes(tensors, plan)
  const asker = fileName ? 'the metadata' : 'config.json'
  const bound = new Map<string, TensorEntry>()
  const used = new Set<string>()
  const missing: WantedTensor[] = []
  for (const wanted of plan.wanted) {
    const names = wanted.formerly === undefined ? [wanted.name] : [wanted.name, wanted.formerly]
    const keys = prefixes
      .flatMap((prefix) => names.map((name) => prefix + name))
      .filter((key) => tensors.has(key))
    if (keys.length > 1) throw twice(wanted.name, keys)
    const key = keys[0]
    if (key === undefined) {
      if (!wanted.optional) missing.push(wanted)
      continue
    }
    const entry = tensors.get(key)!
    requireFloat(entry)
    checkShape(entry, wanted, asker)
    bound.set(wanted.name, entry)
    used.add(key)
  }
  if (missing.length > 0) throw absent(missing, fileName ?? ((name) => (prefixes[0] ?? '') + name), asker)
  const extras = [...tensors.keys()].filter(
    (name) => !used.has(name) && !isBuffer(name, prefixes, plan.buffers),
  )
  return { tensors: bound, warnings: describeExtras(extras) }
}

/** The prefix that finds the most tensors comes first; the others and none are tried after it, tensor by tensor. */
function pickPrefixes(tensors: ReadonlyMap<string, TensorEntry>, plan: TensorPlan): string[] {
  const all = [...new Set([...plan.prefixes, ''])]
  const hits = new Map(
    all.map((prefix) => [prefix, plan.wanted.filter((wanted) => tensors.has(prefix + wanted.name)).length]),
  )
  return all.sort((a, b) => hits.get(b)! - hits.get(a)!)
}

function checkShape(entry: TensorEntry, wanted: WantedTensor, asker: string): void {
  const { shape } = entry
  if (shape.length === wanted.shape.length && shape.every((size, i) => size === wanted.shape[i])) return
  throw new HeadscopeError(
    'bad-checkpoint',
    `The tensor ${shorten(entry.name)} has the shape ${list(shape)}, but ${asker} asks for ${list(wanted.shape)} (${wanted.from}); ${remedy(asker)}.`,
  )
}

function twice(name: string, keys: readonly string[]): HeadscopeError {
  return new HeadscopeError(
    'bad-checkpoint',
    `The tensor ${shorten(name)} is in the weights under two names, ${keys.map((key) => shorten(key)).join(' and ')}, and it is unclear which one counts; remove one.`,
  )
}

function absent(
  missing: readonly WantedTensor[],
  nameOf: (canonical: string) => string,
  asker: string,
): HeadscopeError {
  const first = missing[0]!
  const more = missing.length > 1 ? ` and ${missing.length - 1} more` : ''
  return new HeadscopeError(
    'bad-checkpoint',
    `The weights lack the tensor ${nameOf(first.name)} of shape ${list(first.shape)} (${first.from})${more}, which ${asker} asks for; ${remedy(asker)}.`,
  )
}

/** @param asker where the wanted shapes come from */
function remedy(asker: string): string {
  return asker === 'config.json'
    ? 'use the config.json that belongs to these weights, or download them again'
    : 'download the file again'
}

function isBuffer(name: string, prefixes: readonly string[], buffers: readonly RegExp[]): boolean {
  const bare = prefixes.filter((prefix) => name.startsWith(prefix)).map((prefix) => name.slice(prefix.length))
  return buffers.some((pattern) => bare.some((candidate) => pattern.test(candidate)))
}

function describeExtras(names: readonly string[]): string[] {
  if (names.length <= NAMED_EXTRAS) {
    return names.map((name) => `The tensor ${shorten(name)} is not a part of this model and is not used.`)
  }
  const some = names
    .slice(0, NAMED_EXTRAS)
    .map((name) => shorten(name))
    .join(', ')
  const rest = names.length - NAMED_EXTRAS
  return [`${names.length} tensors are not a part of this model and are not used: ${some} and ${rest} more.`]
}

function list(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`
}
