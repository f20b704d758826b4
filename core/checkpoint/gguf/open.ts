/**
 * Opens a GGUF file as a checkpoint like any other.
 * In: the path of a `.gguf` file. Out: a config as transformers would write it, tensors under transformers' names,
 * the tokenizer. Cost: the head of the file, and a few small tensors of rotary factors.
 */
import { basename } from 'node:path'
import { HeadscopeError } from '../../errors.ts'
import { shorten } from '../json.ts'
import type { Checkpoint, RawConfig, TensorEntry } from '../types.ts'
import { ARCHITECTURES, type Architecture } from './architectures.ts'
import { type GgufHeader, readGgufHeader } from './header.ts'
import { type Settings, settingsOf, showValue } from './metadata.ts'
import { fileNameOf, type NameTable, parseName } from './names.ts'
import { openGgufTokenizer } from './tokenizer.ts'

/** Reads everything about a GGUF file but its tensor data. @throws HeadscopeError naming the file and the rule */
export function openGguf(path: string): Checkpoint {
  const label = shorten(basename(path))
  const header = readGgufHeader(path, label)
  const { name, architecture } = architectureOf(header)
  refuseSplit(header)
  const settings = settingsOf(header, name)
  const vocabSize =
    header.tensors.get('token_embd.weight')?.shape[0] ?? settings.maybeCount('vocab_size') ?? 1
  const config: RawConfig = Object.assign(
    Object.create(null),
    architecture.config({ header, s: settings, vocabSize }),
  )
  const turns = 'rope_theta' in config || 'rotary_pct' in config
  const names = typeof architecture.names === 'function' ? architecture.names(settings) : architecture.names
  const tensors = new Map<string, TensorEntry>()
  for (const entry of header.tensors.values()) {
    if (SETTINGS.test(entry.name) && turns) continue
    for (const [canonical, renamed] of rename(entry, names, architecture, settings))
      tensors.set(canonical, renamed)
  }
  const { tokenizer, problem, warnings } = openGgufTokenizer(header)
  return {
    path,
    name: basename(path),
    config,
    tensors,
    tokenizer,
    tokenizerProblem: problem,
    eosIds: ['eos', 'eot', 'eom']
      .map((kind) => header.metadata.get(`tokenizer.ggml.${kind}_token_id`))
      .filter((id, i, all): id is number => Number.isSafeInteger(id) && all.indexOf(id) === i),
    warnings: [...unreadWarning(header, settings), ...(problem === null ? [] : [problem]), ...warnings],
    fileName: (canonical) => fileNameOf(names, canonical),
  }
}

function architectureOf({ metadata, label }: GgufHeader): { name: string; architecture: Architecture } {
  const name = metadata.get('general.architecture')
  if (typeof name !== 'string') {
    throw new HeadscopeError(
      'bad-checkpoint',
      `${label}: the metadata key general.architecture is ${showValue(name)}, but must be a text; convert or download the file again.`,
    )
  }
  const architecture = ARCHITECTURES.get(name)
  if (architecture) return { name, architecture }
  throw new HeadscopeError(
    'unsupported',
    `${label}: the architecture ${shorten(name)} is not supported; GGUF files of ${[...ARCHITECTURES.keys()].join(', ')} are.`,
  )
}

function refuseSplit({ metadata, label }: GgufHeader): void {
  const count = metadata.get('split.count')
  if (typeof count !== 'number' || count <= 1) return
  throw new HeadscopeError(
    'unsupported',
    `${label} is one of ${count} parts of a model (split.count), and parts are not read; join them with "llama-gguf-split --merge".`,
  )
}

/** Tensors that carry rotary settings: read as such where the architecture turns. */
const SETTINGS = /^rope_(freqs|factors_(long|short))\.weight$/

/** One entry under its transformers name; fused experts and projections become one entry each. */
function rename(
  entry: TensorEntry,
  names: NameTable,
  architecture: Architecture,
  s: Settings,
): [string, TensorEntry][] {
  const { stem, layer, suffix } = parseName(entry.name)
  const stored = architecture.stored?.(stem, suffix, entry.shape, s) ?? null
  const target = Object.hasOwn(names, stem) ? names[stem]! : null
  if (target === null) {
    if (stem === 'blk.#.attn_qkv' && Object.hasOwn(names, 'blk.#.attn_q')) {
      return splitRows(entry, names, s)
    }
    return [[entry.name, entry]]
  }
  const name = target.replace('#', layer) + suffix
  if (name.includes('*')) return expertEntries(entry, name)
  return [[name, withForm(entry, stored)]]
}

/** The shape that the tensor has once its axes are in order. */
function withForm(entry: TensorEntry, stored: TensorEntry['stored'] | null): TensorEntry {
  if (entry.name.endsWith('.ffn_gate_inp_shexp.weight') && entry.shape.length === 1) {
    return { ...entry, shape: [1, ...entry.shape] }
  }
  if (!stored) return entry
  const transposes = stored.order.length === 2 && stored.order[0] === 1
  return { ...entry, stored, shape: transposes ? [...entry.shape].reverse() : entry.shape }
}

/** [expert, out, in] → one entry [out, in] per expert. */
function expertEntries(entry: TensorEntry, name: string): [string, TensorEntry][] {
  const [count = 0, ...shape] = entry.shape
  const bytes = entry.bytes / count
  return Array.from({ length: count }, (_, e) => [
    name.replace('*', String(e)),
    { ...entry, shape, offset: entry.offset + e * bytes, bytes },
  ])
}

/** Fused rows [q | k | v] of an architecture that has them apart. */
function splitRows(entry: TensorEntry, names: NameTable, s: Settings): [string, TensorEntry][] {
  const { layer, suffix } = parseName(entry.name)
  const heads = s.count('attention.head_count')
  const kv = s.maybeCount('attention.head_count_kv') ?? heads
  const [rows = 0, ...rest] = entry.shape
  const rowBytes = entry.bytes / rows
  const width = rows / (heads + 2 * kv)
  if (!Number.isSafeInteger(width)) return [[entry.name, entry]]
  let at = 0
  return (['q', 'k', 'v'] as const).map((part) => {
    const n = (part === 'q' ? heads : kv) * width
    const piece = { ...entry, shape: [n, ...rest], offset: entry.offset + at * rowBytes, bytes: n * rowBytes }
    at += n
    return [names[`blk.#.attn_${part}`]!.replace('#', layer) + suffix, piece]
  })
}

function unreadWarning({ label }: GgufHeader, settings: Settings): string[] {
  const keys = settings.unread()
  if (keys.length === 0) return []
  const some = keys.slice(0, 5).map((key) => shorten(key))
  return [
    `${label}: ${keys.length === 1 ? 'the metadata key' : `${keys.length} metadata keys`} ${some.join(', ')}${keys.length > 5 ? ' …' : ''} ${keys.length === 1 ? 'is' : 'are'} not used.`,
  ]
}
