/**
 * Token by token with a key/value cache: prefill and decode are the block graphs of every other run. Cost per token:
 * one row through every block. The cache holds 2 · layers · kv_heads · d_head · T float32.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { matchHooks } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { createRandom } from '../random.ts'
import { slice } from './dense.ts'
import { createSources } from './edit-sources.ts'
import { type ResolvedEdit, resolveEdits } from './edits.ts'
import type { Engine } from './engine.ts'
import { type KeyValues, runPass } from './pass.ts'
import { logitsOf } from './predictions.ts'
import { type Batch, batchOf, checkBatch, sourceLengthsOf, sourceOf, tooLong } from './prompts.ts'
import { sameTable } from './rope-tables.ts'
import { checkSampling, type Sampling, sample } from './sampling.ts'
import type { RunOptions } from './types.ts'

export interface GenerateOptions extends Pick<RunOptions, 'edits' | 'capture' | 'signal' | 'openRun'> {
  /** What the decoder begins with, where the prompt is its encoder's; default: the start token. */
  readonly decoderIds?: readonly number[]
  readonly max?: number
  readonly temperature?: number
  readonly topK?: number
  readonly topP?: number
  readonly seed?: number
  /** Ids that end the text; empty: none do. */
  readonly stopAt?: readonly number[]
  readonly onToken?: (id: number, logProb: number) => void
  readonly onProgress?: (progress: Progress) => void
  /** Captures of each pass: of the prompt (step 0), then of each new token's own row. */
  readonly onCapture?: (hook: string, tensor: Tensor, step: number) => void | Promise<void>
}

export interface Generated {
  /** What is continued: the decoder's own ids where it reads an encoder. */
  readonly promptIds: readonly number[]
  /** What the encoder before the decoder read. */
  readonly sourceIds?: readonly number[]
  readonly ids: readonly number[] // the new ones
  /** log p of each new token under the model, nats. */
  readonly logProbs: readonly number[]
  readonly stopped: 'max' | 'eos' | 'context'
  readonly cacheBytes: number
  readonly warnings: readonly string[]
}

/** Continues one prompt (where a decoder reads an encoder, the prompt is the encoder's text). Throws `bad-prompt`, `bad-edit`, `bad-request`, `cancelled`. */
export async function generate(
  engine: Engine,
  given: readonly number[],
  options: GenerateOptions = {},
): Promise<Generated> {
  const { spec } = engine.model
  if (!decoderOf(spec).causal)
    throw new HeadscopeError(
      'bad-request',
      `Models of the family ${spec.family} see the whole text at once and cannot continue it; generate with a decoder.`,
    )
  const batch = batchOf(spec, [given], options.decoderIds && [options.decoderIds])
  const warnings = checkBatch(batch, spec)
  const prompt = batch.main[0]!
  const room = spec.positional === 'learned' ? spec.nCtx - prompt.length : null
  const steps = stepsOf(options, room)
  const total = prompt.length + steps
  const decoder = createDecoder(engine, batch, await resolve(engine, batch, total, options), options)
  const made = await drawTokens(decoder, prompt, steps, options)
  const tokens = prompt.length + made.ids.length
  if (tokens > spec.nCtx && prompt.length <= spec.nCtx)
    warnings.push(tooLong('The prompt with the new tokens', tokens, spec))
  return { promptIds: prompt, ...(batch.source ? { sourceIds: given } : {}), ...made, warnings }
}

/** What gives the logits of the next token. */
export interface Decoder {
  /** Takes rows and gives the logits after the last; null where the model takes no more rows. */
  next(fed: readonly number[], step: number): Promise<Float32Array | null>
  cacheBytes(): number
}

/** Checks the settings of a continuation. `room` is how many tokens still fit, null: any number. Throws `bad-request`. */
export function stepsOf(options: GenerateOptions, room: number | null): number {
  const { max = 50 } = options
  if (!Number.isInteger(max) || max < 1)
    throw new HeadscopeError('bad-request', `max must be a whole number of 1 or more, but is ${max}.`)
  checkSampling(samplingOf(options))
  return room === null ? max : Math.min(max, room)
}

/** Draws up to `steps` tokens after a prompt. */
export async function drawTokens(
  decoder: Decoder,
  prompt: readonly number[],
  steps: number,
  options: GenerateOptions,
): Promise<Pick<Generated, 'ids' | 'logProbs' | 'stopped' | 'cacheBytes'>> {
  const { max = 50, seed = 0, stopAt = [] } = options
  const settings = samplingOf(options)
  const random = createRandom(seed)
  const ids: number[] = []
  const logProbs: number[] = []
  let fed: readonly number[] = prompt
  let stopped: Generated['stopped'] = steps < max ? 'context' : 'max'
  const started = performance.now()
  for (let step = 0; step < steps; step++) {
    const logits = await decoder.next(fed, step)
    if (!logits) {
      stopped = 'context'
      break
    }
    const { id, logProb } = sample(logits, settings, random)
    ids.push(id)
    logProbs.push(logProb)
    options.onToken?.(id, logProb)
    const seconds = (performance.now() - started) / 1000
    options.onProgress?.({
      done: step + 1,
      total: steps,
      secondsLeft: (seconds / (step + 1)) * (steps - step - 1),
    })
    if (stopAt.includes(id)) {
      stopped = 'eos'
      break
    }
    fed = [id]
  }
  return { ids, logProbs, stopped, cacheBytes: decoder.cacheBytes() }
}

// --- Internal helpers ---

function samplingOf({ temperature = 0, topK = 0, topP = 1 }: GenerateOptions): Sampling {
  return { temperature, topK, topP }
}

function resolve(engine: Engine, batch: Batch, total: number, options: GenerateOptions) {
  return resolveEdits(options.edits ?? [], {
    spec: engine.model.spec,
    hooks: engine.hooks,
    lengths: [batch.main[0]!.length],
    sourceLengths: sourceLengthsOf(engine, batch),
    total,
    source: createSources(engine, batch, options),
  })
}

/** Feeds rows and gives the logits after the last. A table that changes with the length prefills anew each step. */
function createDecoder(
  engine: Engine,
  batch: Batch,
  edits: readonly ResolvedEdit[],
  options: GenerateOptions,
): Decoder {
  const names = engine.hooks.map((hook) => hook.name)
  const wanted = new Set(options.capture ? matchHooks(options.capture, names) : [])
  const cacheable = (from: number, to: number) =>
    engine.model.spec.ropes.every((rope) => sameTable(rope, from, to))
  let seen: number[] = []
  let past: readonly (KeyValues | undefined)[] = []
  let { source } = sourceOf(batch)
  return {
    async next(fed: readonly number[], step: number): Promise<Float32Array> {
      const start = cacheable(seen.length, seen.length + fed.length) ? seen.length : 0
      seen = [...seen, ...fed]
      const rows = seen.slice(start)
      const done = await runPass(engine, {
        source,
        ids: [rows],
        lengths: [seen.length],
        start,
        total: seen.length,
        past,
        wanted,
        edits,
        keepKeyValues: true,
        signal: options.signal,
        onTensor: (hook, tensor) => options.onCapture?.(hook.name, tensor, step),
      })
      past = done.keyValues
      source = done.source // the encoder runs once
      const last = slice(done.state.get('resid')!, 1, rows.length - 1, rows.length)
      return (await logitsOf(engine, last, seen.length - 1, edits)).data
    },
    cacheBytes(): number {
      const layers = decoderOf(engine.model.spec).layers
      return layers.reduce((sum, layer) => sum + 8 * layer.nKvHeads * layer.dHead * seen.length, 0)
    },
  }
}
