/**
 * Which files of a folder hold the weights.
 * In: a folder. Out: the tensors of its safetensors file or shards, or one sentence that names what is there instead.
 * Other formats are named and never opened: a pickle can run code.
 */
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { fileError, readJsonFile } from './files.ts'
import { isObject, shorten, show } from './json.ts'
import { readHeader } from './safetensors.ts'
import type { TensorEntry } from './types.ts'

const MAIN = 'model.safetensors'
const INDEX = 'model.safetensors.index.json'

export interface FoundWeights {
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly warnings: readonly string[]
}

/** Names in a folder, sorted. @throws HeadscopeError when it cannot be listed */
export function listFolder(folder: string, label: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    throw fileError(label, error)
  }
}

/** True when the name exists, also as a link that leads nowhere. */
export function nameExists(folder: string, name: string): boolean {
  return lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined
}

/** The safetensors files that could be weights, by name only. */
export function weightNames(names: readonly string[]): string[] {
  return names.filter((name) => name.endsWith('.safetensors') && !isAdapter(name))
}

/** True when a folder has weights by the names in it; nothing is opened. */
export function hasWeights(names: readonly string[]): boolean {
  return names.includes(INDEX) || weightNames(names).length > 0
}

/**
 * Reads the headers of a folder's weights.
 * @param chosen the name of one file to take in place of the usual ones
 * @throws HeadscopeError naming the file at fault, or the format that is there instead of safetensors
 */
export function findWeights(
  folder: string,
  names: readonly string[],
  chosen: string | null = null,
): FoundWeights {
  const warnings = names
    .filter(isAdapter)
    .filter((name) => name.endsWith('.safetensors') || name.endsWith('.bin'))
    .map((name) => `${name} is a LoRA adapter beside the weights; it is not applied.`)
  const candidates = weightNames(names)
  const single = chosen ?? (names.includes(MAIN) ? MAIN : null)
  if (single !== null) return { tensors: readHeader(join(folder, single)).tensors, warnings }
  if (names.includes(INDEX)) return { tensors: readShards(folder), warnings }
  if (candidates.length === 1) return { tensors: readHeader(join(folder, candidates[0]!)).tensors, warnings }
  if (candidates.length > 1) throw severalFiles(candidates)
  throw noWeights(folder, names)
}

function severalFiles(candidates: readonly string[]): HeadscopeError {
  const some = candidates
    .slice(0, 3)
    .map((name) => shorten(name))
    .join(', ')
  return new HeadscopeError(
    'bad-checkpoint',
    `The folder holds ${candidates.length} safetensors files (${some}${candidates.length > 3 ? ' …' : ''}) but no ${INDEX} that says which tensor is where; add the index, or open one file by its path.`,
  )
}

function readShards(folder: string): Map<string, TensorEntry> {
  const bad = (why: string) => new HeadscopeError('bad-checkpoint', `${INDEX}: ${why}; download it again.`)
  const index = readJsonFile(folder, INDEX)
  if (!isObject(index)) throw bad(`it holds ${show(index)}, but must hold an object`)
  const map = index.weight_map
  if (!isObject(map)) {
    throw bad(
      map === undefined
        ? 'weight_map is missing'
        : `weight_map is ${show(map)}, but must be an object of file names`,
    )
  }
  const shardOf = new Map<string, string>()
  for (const [tensor, file] of Object.entries(map)) {
    if (typeof file !== 'string' || !file.endsWith('.safetensors') || /[\\/]/.test(file)) {
      throw bad(
        `weight_map places ${shorten(tensor)} in ${show(file)}, but that must be the name of a safetensors file in this folder`,
      )
    }
    shardOf.set(tensor, file)
  }
  if (shardOf.size === 0) throw bad('weight_map is empty')
  const headers = new Map(
    [...new Set(shardOf.values())].sort().map((name) => [name, readHeader(join(folder, name)).tensors]),
  )
  const tensors = new Map<string, TensorEntry>()
  // A tensor that no line of the index mentions is still there; binding reports it when it is not needed.
  for (const shard of headers.values()) {
    for (const [name, entry] of shard) if (!shardOf.has(name)) tensors.set(name, entry)
  }
  for (const [name, file] of shardOf) {
    const entry = headers.get(file)?.get(name)
    if (!entry) throw bad(`it places ${shorten(name)} in ${file}, but that file does not hold it`)
    tensors.set(name, entry)
  }
  return tensors
}

function isAdapter(name: string): boolean {
  return name.startsWith('adapter_')
}

/** Formats that are named when they are there instead of safetensors, most likely first. */
const OTHER_FORMATS: readonly { pattern: RegExp; what: string }[] = [
  { pattern: /\.(bin|pt|pth|ckpt|pkl)$/, what: 'a PyTorch pickle, which can run code and is not opened' },
  { pattern: /\.onnx$/, what: 'an ONNX graph, which does not show the parts of the model' },
  { pattern: /\.gguf$/, what: 'a GGUF file, which is opened by its own path' },
  { pattern: /\.h5$/, what: 'a TensorFlow file, which is not read' },
  { pattern: /\.(msgpack|ot|npz)$/, what: 'weights of another library, which are not read' },
]

/** What a file of another format is, or null. */
export function otherFormat(name: string): string | null {
  return OTHER_FORMATS.find(({ pattern }) => pattern.test(name))?.what ?? null
}

function noWeights(folder: string, names: readonly string[]): HeadscopeError {
  const inner = names.includes('onnx') ? safeList(join(folder, 'onnx')).map((name) => `onnx/${name}`) : []
  const all = [...names, ...inner].filter((name) => !isAdapter(name) && name !== 'training_args.bin')
  for (const { pattern, what } of OTHER_FORMATS) {
    const found = all.find((name) => pattern.test(name))
    if (found) {
      return new HeadscopeError(
        'unsupported',
        `The weights are only in ${shorten(found)}, ${what}; convert them to safetensors (in transformers: model.save_pretrained(folder)).`,
      )
    }
  }
  return new HeadscopeError(
    'bad-checkpoint',
    `The folder holds config.json but no ${MAIN}; put the weights beside it.`,
  )
}

function safeList(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}
