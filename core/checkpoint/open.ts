/**
 * Opens a checkpoint: folder, Hugging Face snapshot, GGUF file, or the path of a weights file.
 * In: a path. Out: config, tensor entries, tokenizer and warnings. Nothing is computed and nothing is written.
 * Cost: headers and small JSON files; no tensor data is read.
 */
import { type Stats, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { HeadscopeError, sentence } from '../errors.ts'
import { readConfig } from './config.ts'
import { fileError, readJsonFile } from './files.ts'
import { findWeights, hasWeights, listFolder, nameExists, otherFormat } from './folder.ts'
import { openGguf } from './gguf/open.ts'
import { isObject, shorten, show } from './json.ts'
import { listMembers } from './series.ts'
import { openTokenizer } from './tokenizer.ts'
import type { Checkpoint, RawConfig } from './types.ts'

/**
 * Reads everything about a checkpoint but its tensor data.
 * @throws HeadscopeError naming the file and the rule
 */
export function openCheckpoint(path: string): Checkpoint {
  if (isGguf(path)) return openGguf(resolve(path))
  const place = resolvePlace(path)
  const { folder } = place
  const name = basename(folder) || folder
  const names = listFolder(folder, shorten(name))
  refuseAdapterAlone(folder, names)
  if (!nameExists(folder, 'config.json')) {
    const files = names.filter((file) => isGguf(join(folder, file)))
    if (files.length === 1) return openGguf(join(folder, files[0]!))
    throw noConfig(folder, name, files)
  }
  const config = readConfig(folder)
  refuseQuantized(config)
  const weights = findWeights(folder, names, place.file)
  const { tokenizer, problem, warnings: tokenizerWarnings } = openTokenizer(folder)
  const eos = readEosIds(folder, config)
  return {
    path: folder,
    name,
    config,
    tensors: weights.tensors,
    tokenizer,
    tokenizerProblem: problem,
    eosIds: eos.ids,
    warnings: [
      ...weights.warnings,
      ...(problem === null ? [] : [problem]),
      ...tokenizerWarnings,
      ...eos.warnings,
    ],
  }
}

/** A file by that name; a folder may be called so as well. */
function isGguf(path: string): boolean {
  return path.toLowerCase().endsWith('.gguf') && !statSync(path, { throwIfNoEntry: false })?.isDirectory()
}

/** A folder, and the one file of it that was named, if any. */
function resolvePlace(path: string): { folder: string; file: string | null } {
  const absolute = resolve(path)
  const name = basename(absolute)
  let facts: Stats
  try {
    facts = statSync(absolute)
  } catch (error) {
    throw fileError(shorten(path, 300), error)
  }
  if (facts.isDirectory()) return { folder: absolute, file: null }
  const folder = dirname(absolute)
  if (name === 'config.json' || name === 'model.safetensors.index.json') return { folder, file: null }
  if (name.endsWith('.safetensors') && !name.startsWith('adapter_')) {
    // A shard or the usual file stands for its folder; another name is taken as the weights.
    return { folder, file: /^model(-\d+-of-\d+)?\.safetensors$/.test(name) ? null : name }
  }
  const other = otherFormat(name)
  throw new HeadscopeError(
    other ? 'unsupported' : 'bad-checkpoint',
    `${shorten(name)} is ${other ?? 'not a checkpoint'}; open a folder with config.json and model.safetensors.`,
  )
}

function refuseAdapterAlone(folder: string, names: readonly string[]): void {
  if (!names.includes('adapter_config.json') || hasWeights(names)) return
  const adapter = readJsonFile(folder, 'adapter_config.json')
  const base = isObject(adapter) ? adapter.base_model_name_or_path : undefined
  throw new HeadscopeError(
    'unsupported',
    `This folder is a LoRA adapter for ${typeof base === 'string' ? shorten(base) : 'another model'}, without the model itself; merge it into its base model and save that as safetensors.`,
  )
}

function noConfig(folder: string, name: string, files: readonly string[]): HeadscopeError {
  const members = listMembers(folder)
  if (members.length > 0) {
    const some = members
      .slice(0, 3)
      .map((member) => member.at)
      .join(', ')
    return new HeadscopeError(
      'bad-checkpoint',
      `${shorten(name)} has no config.json: it is a series of ${members.length} checkpoints (${some}${members.length > 3 ? ' …' : ''}); choose one of them.`,
    )
  }
  if (files.length > 0) {
    const some = files.slice(0, 3).map((file) => shorten(file))
    return new HeadscopeError(
      'bad-checkpoint',
      `${shorten(name)} holds ${files.length} GGUF files (${some.join(', ')}${files.length > 3 ? ' …' : ''}); open one of them by its path.`,
    )
  }
  return new HeadscopeError(
    'bad-checkpoint',
    `${shorten(name)} has no config.json; open a folder that holds config.json and model.safetensors.`,
  )
}

function refuseQuantized(config: RawConfig): void {
  const quantization = config.quantization_config
  if (quantization === undefined || quantization === null) return
  const scheme = isObject(quantization) ? quantization.quant_method : quantization
  throw new HeadscopeError(
    'unsupported',
    `config.json: quantization_config asks for the scheme ${show(scheme)}, but only plain F32, F16, BF16 or F64 weights are read; use the unquantized checkpoint.`,
  )
}

/** End-of-text ids: generation_config.json, else config.json. A broken file is only a warning. */
export function readEosIds(folder: string, config: RawConfig): { ids: number[]; warnings: string[] } {
  const warnings: string[] = []
  let value: unknown
  if (nameExists(folder, 'generation_config.json')) {
    try {
      const generation = readJsonFile(folder, 'generation_config.json')
      if (isObject(generation)) value = generation.eos_token_id
    } catch (error) {
      warnings.push(`${sentence(error)} Until then the end-of-text id is taken from config.json.`)
    }
  }
  value ??= config.eos_token_id ?? []
  const ids = (Array.isArray(value) ? value : [value]).filter(
    (id): id is number => Number.isSafeInteger(id) && id >= 0,
  )
  return { ids, warnings }
}
