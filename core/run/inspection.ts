/**
 * What a checkpoint is, without running it and without loading ONNX Runtime. In: a checkpoint folder or a lone
 * config.json. Out: spec, parameters, cache and hooks. Cost: headers and small JSON files.
 */
import { statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { readConfig } from '../checkpoint/config.ts'
import { contentHash } from '../checkpoint/content-hash.ts'
import { isCheckpointFolder } from '../checkpoint/series.ts'
import type { Checkpoint, ContentHash } from '../checkpoint/types.ts'
import { readFamily } from '../families/index.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import { cacheBytesPerToken, countParameters, type ParameterCount } from './parameters.ts'
import { readModel } from './read-model.ts'
import { type HookInfo, listHooks } from './segments.ts'

export interface Inspection {
  readonly path: string
  readonly spec: ModelSpec
  readonly parameters: ParameterCount
  readonly cacheBytesPerToken: number
  readonly hooks: readonly HookInfo[]
  readonly warnings: readonly string[]
  /** null for a config alone, which has no weights. */
  readonly checkpoint: Checkpoint | null
  readonly contentHash: (() => Promise<ContentHash>) | null
}

/** Looks at a checkpoint, or at a config.json that stands alone. Throws `bad-checkpoint` or `unsupported`. */
export function inspectPath(path: string): Inspection {
  const isConfig =
    basename(path) === 'config.json' && statSync(path, { throwIfNoEntry: false })?.isFile() === true
  return isConfig && !isCheckpointFolder(dirname(path)) ? inspectConfig(path) : inspectCheckpoint(path)
}

/** Bytes of keys and values of `tokens` tokens, float32: a layer with a window stops growing at its width. */
export function cacheBytes(spec: ModelSpec, tokens: number): number {
  return decoderOf(spec).layers.reduce(
    (sum, { nKvHeads, dHead, window }) => sum + 2 * 4 * nKvHeads * dHead * Math.min(tokens, window ?? tokens),
    0,
  )
}

// --- Internal helpers ---

function inspectCheckpoint(path: string): Inspection {
  const { checkpoint, bound, model, parameters, hooks, warnings } = readModel(path)
  return {
    path: checkpoint.path,
    spec: model.spec,
    parameters,
    cacheBytesPerToken: cacheBytesPerToken(model),
    hooks,
    warnings,
    checkpoint,
    contentHash: () => contentHash(bound),
  }
}

function inspectConfig(path: string): Inspection {
  const family = readFamily(readConfig(dirname(path)))
  const { tie, embedding, own } = family.head
  return {
    path,
    spec: family.spec,
    parameters: countParameters(family, !tie),
    cacheBytesPerToken: cacheBytesPerToken(family),
    hooks: listHooks(family, tie ? embedding : own),
    warnings: family.warnings,
    checkpoint: null,
    contentHash: null,
  }
}
