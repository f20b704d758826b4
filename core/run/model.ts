/** Opens a checkpoint for running. Nothing is computed and no weight is read, except to write a float32 working copy. */
import { availableParallelism } from 'node:os'
import {
  type Checkpoint,
  type ContentHash,
  checkWeightFiles,
  contentHash,
  type EncodeOptions,
  type Progress,
  readTensor,
  type Tokenizer,
  weightFiles,
} from '../checkpoint/index.ts'
import { HeadscopeError } from '../errors.ts'
import { matchHooks } from '../graph/hook-names.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import { onnxFileOf } from '../onnx/find.ts'
import type { Dense } from './dense.ts'
import { type Device, requireDevice } from './devices.ts'
import type { Engine } from './engine.ts'
import { type Generated, type GenerateOptions, generate } from './generate.ts'
import { type GradientOptions, gradients, type MetricGradients } from './gradients-of.ts'
import { hookedRun } from './hooked-run.ts'
import type { ParameterCount } from './parameters.ts'
import { batchedIds } from './prompts.ts'
import { readModel } from './read-model.ts'
import { readingModel } from './reading.ts'
import type { HookInfo } from './segments.ts'
import { createSessionPool, type SessionMode } from './session.ts'
import type { Run, RunOptions } from './types.ts'
import { versions } from './versions.ts'

export interface OpenOptions {
  /** Threads of each computation; default: the machine's cores. */
  readonly threads?: number
  /** Where it is computed: cpu (default), webgpu, cuda, coreml, dml, where the installed runtime offers it. */
  readonly device?: string
  /** Where float32 working copies and hashes are kept; default: the platform's cache folder. */
  readonly cacheDir?: string
  /** Bytes of attention scores of one block above which it runs in chunks of rows; default 64 MB. */
  readonly scoreBudget?: number
  readonly signal?: AbortSignal
  /** Called while a working copy is written. */
  readonly onProgress?: (progress: Progress) => void
}

export interface Model {
  readonly path: string
  readonly name: string
  readonly spec: ModelSpec
  /** Where its blocks are computed. */
  readonly device: Device
  readonly checkpoint: Checkpoint
  readonly tokenizer: Tokenizer | null
  readonly parameters: ParameterCount
  readonly hooks: readonly HookInfo[]
  readonly warnings: readonly string[]
  /** Text to ids. Throws `bad-prompt` when the checkpoint has no tokenizer, or the text is empty. */
  encode(text: string, options?: EncodeOptions): number[]
  /** Hash of the weights and where they are not finite: one background pass, cached. */
  contentHash(): Promise<ContentHash>
  /** Names that capture globs mean here, in the order of the computation. Throws `bad-request` for one that matches nothing. */
  captures(globs: readonly string[]): string[]
  /** One pass over one prompt or a batch. */
  run(ids: readonly number[] | readonly (readonly number[])[], options?: RunOptions): Promise<Run>
  generate(ids: readonly number[], options?: GenerateOptions): Promise<Generated>
  /** ∂metric/∂hooks of one prompt or a batch: the metric's value and a tensor per hook. Costs about three forwards. */
  gradients(
    ids: readonly number[] | readonly (readonly number[])[],
    options: GradientOptions,
  ): Promise<MetricGradients>
  /**
   * Where a decoder reads an encoder: the decoder alone, as a model of one stack that reads this one text. Its hooks
   * are `blocks.…`, and what goes over the layers and heads of a stack (ablation, patching, attribution) works on it.
   * Costs one pass of the encoder. Throws `bad-request` for a model without an encoder.
   */
  reading(source: readonly number[]): Promise<Model>
  /** Of such a model: the same over other numbers [1, source, d_model] than the encoder handed over. */
  withMemory?(memory: Dense): Model
  /** A tensor of the weights by canonical name, as float32. */
  weight(name: string): Float32Array
  /** The machinery below, for analyses and interventions. `sweep` repacks weights: for long sweeps only. */
  engine(mode?: SessionMode): Engine
  close(): Promise<void>
}

/**
 * Opens a checkpoint folder (or its weights file), or an ONNX file made by others. Throws `bad-checkpoint` or
 * `unsupported` in one sentence naming the file and the rule.
 */
export async function openModel(path: string, options: OpenOptions = {}): Promise<Model> {
  const { threads = availableParallelism(), scoreBudget = 64 * 1024 * 1024 } = options
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
    throw new HeadscopeError(
      'bad-request',
      `threads is ${threads}, but must be a whole number from 1 to 1024.`,
    )
  const onnx = onnxFileOf(path)
  if (onnx) return (await import('./onnx-model.ts')).openOnnx(onnx, options)
  const device = await requireDevice(options.device ?? 'cpu')
  const { checkpoint, bound, model, matrix, parameters, hooks, warnings } = readModel(path)
  const { spec } = model
  const cache = options.cacheDir === undefined ? {} : { cacheDir: options.cacheDir }
  let hashed: Promise<ContentHash> | null = null
  let known: string | null = null
  const hash = () => {
    hashed ??= contentHash(bound, cache).then(
      (result) => {
        known = result.hash
        return result
      },
      (error) => {
        hashed = null
        throw error
      },
    )
    return hashed
  }
  const weights = await weightFiles(bound, {
    ...cache,
    hash: async () => (await hash()).hash,
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.onProgress ? { onProgress: options.onProgress } : {}),
  })
  const engines = new Map<SessionMode, Engine>()
  const { tokenizer } = checkpoint

  const provenance = () => ({
    modelPath: checkpoint.path,
    modelName: checkpoint.name,
    family: spec.family,
    contentHash: known,
    versions,
    device,
    dtype: 'f32' as const,
  })
  const opened: Model = {
    path: checkpoint.path,
    name: checkpoint.name,
    spec,
    device,
    checkpoint,
    tokenizer,
    parameters,
    hooks,
    warnings,
    encode(text, encoding) {
      if (!tokenizer)
        throw new HeadscopeError('bad-prompt', `${checkpoint.tokenizerProblem} Give the prompt as token ids.`)
      return tokenizer.encode(text, encoding)
    },
    contentHash: hash,
    captures: (globs) =>
      matchHooks(
        globs,
        hooks.map((hook) => hook.name),
      ),
    async run(ids, run = {}) {
      return hookedRun(opened.engine(), batchedIds(ids), run, provenance())
    },
    generate: (ids, generation) => generate(opened.engine(), ids, generation),
    gradients: async (ids, asked) => gradients(opened, batchedIds(ids), asked),
    reading: (source) => readingModel(opened, source, provenance),
    weight(name) {
      const entry = bound.tensors.get(name)
      if (!entry) throw new HeadscopeError('bad-request', `This model has no tensor ${name}.`)
      return readTensor(entry)
    },
    engine(mode = 'explore') {
      const known = engines.get(mode)
      if (known) return known
      const pool = createSessionPool({
        folder: weights.folder,
        threads,
        mode,
        device,
        check: () => checkWeightFiles(weights),
      })
      const engine: Engine = { model, matrix, weights, pool, hooks, scoreBudget, encode: opened.encode }
      engines.set(mode, engine)
      return engine
    },
    async close() {
      for (const engine of engines.values()) await engine.pool.close()
      engines.clear()
    },
  }
  return opened
}
