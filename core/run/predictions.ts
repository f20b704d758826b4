/**
 * What the model says: from the last residual to top tokens, losses and, when wanted, logits and final hooks. Runs in
 * chunks of rows, so that memory holds at most 64 MB of logits and probabilities at a time unless they are captured.
 */
import type { Tensor } from '../graph/tensor.ts'
import { createAssembly } from './assemble.ts'
import { type Dense, slice, type Window } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment } from './engine.ts'
import { editInputs } from './pass.ts'
import { type HookInfo, stateInput } from './segments.ts'
import { asFloats, type Feed, type FetchedTensor } from './session.ts'
import type { Prediction, TopToken } from './types.ts'

const LOGITS_BUDGET = 64 * 1024 * 1024

export interface UnembedRequest {
  readonly resid: Dense // [batch, pos, d_model]
  /** Absolute position of the first row. */
  readonly start: number
  /** The token that follows each row [batch][rows]; null where none does. */
  readonly targets: readonly (readonly (number | null)[])[]
  /** Most likely tokens to keep per row; 0: no predictions at all. */
  readonly top: number
  readonly wanted: ReadonlySet<string>
  readonly edits: readonly ResolvedEdit[]
  readonly onTensor?: ((hook: HookInfo, tensor: Tensor) => void | Promise<void>) | undefined
}

export interface UnembedReply {
  /** [batch][rows]; empty when top is 0. */
  readonly predictions: readonly (readonly Prediction[])[]
  /** Whether some logit was not a finite number. */
  readonly nonFinite: boolean
}

/** Unembeds every row. */
export async function runUnembed(engine: Engine, request: UnembedRequest): Promise<UnembedReply> {
  const [batch, rows] = request.resid.shape as [number, number, number]
  const vocab = engine.model.spec.dVocab
  const chunk = Math.max(1, Math.min(rows, Math.floor(LOGITS_BUDGET / (2 * 4 * vocab * batch))))
  const hooks = engine.hooks.filter((hook) => hook.segment === 'unembed' && request.wanted.has(hook.name))
  const whole = { start: 0, rows, keys: rows }
  const assemblies = hooks.map((hook) => [hook, createAssembly(hook.axes, whole, 0)] as const)
  const predictions: Prediction[][] = Array.from({ length: batch }, () => [])
  let nonFinite = false
  for (let first = 0; first < rows; first += chunk) {
    const size = Math.min(chunk, rows - first)
    const window = { start: first, rows: size, keys: rows }
    const outputs = await unembedRows(engine, request, hooks, window)
    for (const [hook, assembly] of assemblies) assembly.add(window, asFloats(outputs.get(hook.name)!))
    if (request.top === 0) continue
    const replies = await readPredictions(engine, request, window, outputs)
    replies.predictions.forEach((row, item) => {
      predictions[item]!.push(...row)
    })
    nonFinite ||= replies.nonFinite
  }
  for (const [hook, assembly] of assemblies)
    await request.onTensor?.(hook, { ...assembly.finish(), axes: hook.axes })
  return { predictions, nonFinite }
}

/** Full logits of some rows [batch, rows, d_vocab]. */
export async function logitsOf(
  engine: Engine,
  resid: Dense,
  start: number,
  edits: readonly ResolvedEdit[],
): Promise<Dense> {
  const window = { start, rows: resid.shape[1]!, keys: start + resid.shape[1]! }
  const { slots, inputs } = editInputs(edits, 'unembed', window)
  const feeds = new Map<string, Feed>([...inputs, [stateInput('resid'), resid]])
  return asFloats((await runSegment(engine, 'unembed', ['logits'], slots, feeds)).get('logits')!)
}

// --- Internal helpers ---

function unembedRows(engine: Engine, request: UnembedRequest, hooks: readonly HookInfo[], window: Window) {
  const absolute = {
    start: request.start + window.start,
    rows: window.rows,
    keys: request.start + window.keys,
  }
  const { slots, inputs } = editInputs(request.edits, 'unembed', absolute)
  const resid = slice(request.resid, 1, window.start, window.start + window.rows)
  const feeds = new Map<string, Feed>([...inputs, [stateInput('resid'), resid]])
  const names = hooks.map((hook) => hook.name)
  if (request.top > 0) {
    names.push('log_sum_exp', 'top_logits', 'top_ids', 'target_logit')
    const targets = request.targets.flatMap((row) =>
      row.slice(window.start, window.start + window.rows).map((target) => BigInt(target ?? 0)),
    )
    feeds.set('targets', {
      data: BigInt64Array.from(targets),
      shape: [request.targets.length, window.rows, 1],
    })
    const count = Math.min(request.top, engine.model.spec.dVocab)
    feeds.set('top_count', { data: BigInt64Array.of(BigInt(count)), shape: [1] })
  }
  if (names.length === 0) return Promise.resolve(new Map<string, FetchedTensor>())
  return runSegment(engine, 'unembed', names, slots, feeds)
}

async function readPredictions(
  engine: Engine,
  request: UnembedRequest,
  window: Window,
  outputs: ReadonlyMap<string, FetchedTensor>,
) {
  const sums = asFloats(outputs.get('log_sum_exp')!).data
  const targetLogits = asFloats(outputs.get('target_logit')!).data
  const topLogits = asFloats(outputs.get('top_logits')!).data
  const topIds = outputs.get('top_ids')!.data as BigInt64Array
  const count = topLogits.length / sums.length
  if (!sums.every(Number.isFinite)) {
    const resid = slice(request.resid, 1, window.start, window.start + window.rows)
    const logits = await logitsOf(engine, resid, request.start + window.start, request.edits)
    return { predictions: brokenRows(logits, request.top), nonFinite: true }
  }
  const predictions = request.targets.map((targets, item) =>
    Array.from({ length: window.rows }, (_, row): Prediction => {
      const flat = item * window.rows + row
      const sum = sums[flat]!
      const top = Array.from({ length: count }, (_, k): TopToken => {
        const logit = topLogits[flat * count + k]!
        return { id: Number(topIds[flat * count + k]!), logit, prob: Math.exp(logit - sum) }
      })
      const target = targets[window.start + row] ?? null
      return { top, loss: target === null ? null : sum - targetLogits[flat]! }
    }),
  )
  return { predictions, nonFinite: false }
}

/** Rows in which some logit is not finite: the finite ones ranked, without probabilities or loss. */
function brokenRows(logits: Dense, top: number): Prediction[][] {
  const [batch, rows, vocab] = logits.shape as [number, number, number]
  return Array.from({ length: batch }, (_, item) =>
    Array.from({ length: rows }, (_, row) => {
      const from = (item * rows + row) * vocab
      const values = logits.data.subarray(from, from + vocab)
      const ids = Array.from(values.keys()).filter((id) => Number.isFinite(values[id]!))
      ids.sort((a, b) => values[b]! - values[a]! || a - b)
      return { top: ids.slice(0, top).map((id) => ({ id, logit: values[id]!, prob: null })), loss: null }
    }),
  )
}
