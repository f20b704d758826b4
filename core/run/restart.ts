/**
 * Causal restart: a model's state before layer l and before position p does not depend on an edit at (l, p). A base
 * run keeps the residuals at block borders and the keys and values; a restart computes only blocks ≥ l and rows ≥ p.
 * Bit-identical to the full run where two or more rows are computed (dense blocks, T ≤ 256), within 1e-5 otherwise.
 */
import { HeadscopeError } from '../errors.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { windowed } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import type { Engine } from './engine.ts'
import { type KeyValues, runPass, type State } from './pass.ts'
import { checkPrompts, rightPad } from './prompts.ts'
import type { HookInfo } from './segments.ts'

/** What a restart starts from. Bytes: 4 · batch · T · (d_model · (layers + 1) + 2 · layers · kv_heads · d_head). */
export interface BaseRun {
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
): Promise<BaseRun> {
  checkPrompts(prompts, engine.model.spec)
  const ids = rightPad(prompts)
  const lengths = prompts.map((row) => row.length)
  const { borders, keyValues } = await runPass(engine, {
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
  return { ids, lengths, borders: borders as State[], keyValues: keyValues as KeyValues[] }
}

export interface RestartRequest {
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
  const count = decoderOf(engine.model.spec).layers.length
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
  if (pos > 0 && !decoderOf(engine.model.spec).causal)
    throw new HeadscopeError(
      'bad-request',
      `Models of the family ${engine.model.spec.family} look ahead, so rows before position ${pos} depend on it; restart from position 0.`,
    )
  refuseMissed(request)
  const window = { start: pos, rows: total - pos, keys: total }
  const axes = engine.model.state
  const border = new Map(
    [...base.borders[layer]!].map(([part, value]) => [part, windowed(value, axes[part]!, window)] as const),
  )
  const { state } = await runPass(engine, {
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

function refuseMissed({ layer, edits }: RestartRequest): void {
  const missed = edits.find(({ hook }) => hook.segment === 'embed' || (hook.segment as number) < layer)
  if (missed)
    throw new HeadscopeError(
      'bad-edit',
      `The edit of ${missed.hook.name} lies before layer ${layer}, where the restart begins.`,
    )
}
