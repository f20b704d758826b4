/**
 * Causal restart: a model's state before layer l and before position p does not depend on an edit at (l, p). A base
 * run keeps the residuals at block borders and the keys and values; a restart computes only blocks ≥ l and rows ≥ p.
 * Bit-identical to the full run where two or more rows are computed (dense blocks, T ≤ 256), within 1e-5 otherwise.
 */
import { HeadscopeError } from '../errors.ts'
import { decoderOf, encoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { windowed } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import type { Engine } from './engine.ts'
import { type KeyValues, runPass, type Source, type State } from './pass.ts'
import { batchOf, checkBatch, rightPad, sourceOf } from './prompts.ts'
import { type HookInfo, isEncoder, type Segment } from './segments.ts'

/** What a restart starts from. Bytes: 4 · batch · T · (d_model · (layers + 1) + 2 · layers · kv_heads · d_head). */
export interface BaseRun {
  /** What the encoder read and handed over, where there is one. */
  readonly source?: Source
  /** Before each block of the encoder, and after its last. */
  readonly encoderBorders?: readonly State[]
  readonly ids: readonly (readonly number[])[]
  readonly lengths: readonly number[]
  readonly borders: readonly State[] // before each block, and after the last
  readonly keyValues: readonly KeyValues[]
}

/** Runs prompts once, unedited, and keeps what restarts need. */
export async function baseRun(
  engine: Engine,
  prompts: readonly (readonly number[])[],
  signal?: AbortSignal,
  /** The decoder's own texts, where the prompts are its encoder's. */
  decoderIds?: readonly (readonly number[])[],
): Promise<BaseRun> {
  const batch = batchOf(engine.model.spec, prompts, decoderIds)
  checkBatch(batch, engine.model.spec)
  const ids = rightPad(batch.main)
  const lengths = batch.main.map((row) => row.length)
  const { borders, keyValues, source, encoderBorders } = await runPass(engine, {
    ...sourceOf(batch),
    ids,
    lengths,
    start: 0,
    total: ids[0]!.length,
    wanted: new Set(),
    edits: [],
    keepBorders: true,
    keepKeyValues: true,
    signal,
  })
  return {
    ids,
    lengths,
    borders: borders as State[],
    keyValues: keyValues as KeyValues[],
    ...(source ? { source, encoderBorders: encoderBorders as State[] } : {}),
  }
}

export interface RestartRequest {
  /** `encoder`: `layer` is a block of the encoder, and the whole decoder follows. */
  readonly stack?: 'encoder'
  /** First block that is computed. */
  readonly layer: number
  /** First position that is computed; 0 recomputes every row. */
  readonly pos: number
  /** Edits at or after (layer, pos); an edit before it would be missed, and is refused. */
  readonly edits: readonly ResolvedEdit[]
  readonly wanted?: ReadonlySet<string>
  readonly onTensor?: (hook: HookInfo, tensor: Tensor) => void | Promise<void>
  readonly signal?: AbortSignal
}

/** The last state of the rows pos … T - 1. Throws `bad-request` for a place outside the run. */
export async function restart(engine: Engine, base: BaseRun, request: RestartRequest): Promise<State> {
  const { layer, pos } = request
  const inEncoder = request.stack === 'encoder'
  if (inEncoder && !base.source)
    throw new HeadscopeError(
      'bad-request',
      `Models of the family ${engine.model.spec.family} have no encoder before a decoder to restart in; leave stack out.`,
    )
  const stack = inEncoder ? encoderOf(engine.model.spec)! : decoderOf(engine.model.spec)
  const count = stack.layers.length
  const total = base.ids[0]!.length
  if (!Number.isInteger(layer) || layer < 0 || layer >= count)
    throw new HeadscopeError(
      'bad-request',
      `There is no layer ${layer} to restart from: layers are 0 to ${count - 1}.`,
    )
  if (!Number.isInteger(pos) || pos < 0 || pos >= total)
    throw new HeadscopeError(
      'bad-request',
      `There is no position ${pos} to restart from: positions are 0 to ${total - 1}.`,
    )
  if (pos > 0 && !stack.causal)
    throw new HeadscopeError(
      'bad-request',
      `${inEncoder ? 'Encoders' : `Models of the family ${engine.model.spec.family}`} look ahead, so rows before position ${pos} depend on it; restart from position 0.`,
    )
  refuseMissed(request)
  if (inEncoder) {
    const from = { layer, state: base.encoderBorders![layer]! }
    const { state } = await runPass(engine, {
      source: { ids: base.source!.ids, lengths: base.source!.lengths, from },
      ids: base.ids,
      lengths: base.lengths,
      start: 0,
      total,
      wanted: request.wanted ?? new Set(),
      edits: request.edits,
      signal: request.signal,
      onTensor: request.onTensor,
    })
    return state
  }
  const window = { start: pos, rows: total - pos, keys: total }
  const axes = engine.model.state
  const border = new Map(
    [...base.borders[layer]!].map(([part, value]) => [part, windowed(value, axes[part]!, window)] as const),
  )
  const { state } = await runPass(engine, {
    source: base.source,
    ids: base.ids.map((row) => row.slice(pos)),
    lengths: base.lengths,
    start: pos,
    total,
    from: { layer, state: border },
    past: base.keyValues,
    wanted: request.wanted ?? new Set(),
    edits: request.edits,
    signal: request.signal,
    onTensor: request.onTensor,
  })
  return state
}

// --- Internal helpers ---

function refuseMissed({ layer, edits, stack }: RestartRequest): void {
  const missed = edits.find(({ hook: { segment } }) => {
    if (stack === 'encoder') return segment === 'encoder.embed' || isBefore(segment, layer)
    return segment === 'embed' || isEncoder(segment) || (segment as number) < layer
  })
  if (missed)
    throw new HeadscopeError(
      'bad-edit',
      `The edit of ${missed.hook.name} lies before layer ${layer}, where the restart begins.`,
    )
}

/** Whether a segment is a block of the encoder before `layer`. */
function isBefore(segment: Segment, layer: number): boolean {
  const block = typeof segment === 'string' ? /^encoder\.(\d+)$/.exec(segment) : null
  return block !== null && Number(block[1]) < layer
}
