/**
 * The logit lens: what the model would say if it stopped at a block border. In: prompts. Out: for every layer and
 * position the likeliest tokens, the entropy, the loss of the real next token and the rank of an answer; full logits
 * only for a caller that takes them. Row l is the residual before block l, the last row the one after the last block,
 * which is the model's own output.
 *
 * Everything that the model does after its last block is done at every layer: the final norm with its statistics
 * recomputed, the projection, the logit scale, the soft-cap, biases. Top tokens, entropy and rank are worked out inside
 * the graph. Cost: one forward and one unembedding of the wanted rows per layer, in chunks of 64 MB of logits.
 *
 * Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Graph, Node } from '../graph/builder.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Dense } from '../run/dense.ts'
import { slice } from '../run/dense.ts'
import { runSegment, type Variant } from '../run/engine.ts'
import type { Model } from '../run/model.ts'
import { runPass, throwIfCancelled } from '../run/pass.ts'
import { batchOf, checkBatch, checkTokenTypes, rightPad, sourceOf } from '../run/prompts.ts'
import { stateInput } from '../run/segments.ts'
import { asFloats, type Feed } from '../run/session.ts'
import type { Edit, RunOptions, TopToken } from '../run/types.ts'
import { borderHooks } from './residual-geometry.ts'

export const LENS_DEFINITION =
  'The residual stream at a block border through everything that the model does after its last block, with the statistics of the final norm recomputed there. The last row is the model’s own output.'

const LOGITS_BUDGET = 64 * 1024 * 1024

export interface LensOptions {
  /** Likeliest tokens per cell (default 5). */
  readonly top?: number
  /** Positions wanted, in every prompt that has them; negative counts from each prompt's end. Default all. */
  readonly positions?: readonly number[]
  /** Block borders wanted, 0 … layers; default all. */
  readonly layers?: readonly number[]
  /** A token whose rank and probability are wanted in every cell. */
  readonly answer?: number
  readonly tokenTypes?: readonly (readonly number[])[]
  /** The decoder's own texts, where the prompts are its encoder's; its layers are the rows then. */
  readonly decoderIds?: readonly (readonly number[])[]
  /** The residuals are those of a run with these edits; an edited residual is seen at its own border. */
  readonly edits?: readonly Edit[]
  /** Reads stored captures for edits `from: {run}`. */
  readonly openRun?: NonNullable<RunOptions['openRun']>
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Takes full logits [batch, pos, d_vocab] of each wanted layer, every position, padding 0. */
  readonly onLogits?: (layer: number, logits: Dense) => void | Promise<void>
}

export interface LensCell {
  readonly item: number
  readonly pos: number
  readonly top: readonly TopToken[]
  /** Of the prediction, nats. */
  readonly entropy: number | null
  /** Of the token that really follows, nats; null where none does or the model looks ahead. */
  readonly loss: number | null
  /** How many tokens are likelier than the answer; null without one. */
  readonly rank: number | null
  readonly prob: number | null
}

export interface LensLayer {
  readonly layer: number
  readonly positions: readonly LensCell[]
}

export interface Lens {
  readonly layers: readonly LensLayer[]
  readonly warnings: readonly string[]
}

/** Throws what a run throws, and `bad-request` for a layer, position or answer that is not there. */
export async function logitLens(
  model: Model,
  texts: readonly (readonly number[])[],
  options: LensOptions = {},
): Promise<Lens> {
  const { spec } = model
  const engine = model.engine()
  const batch = batchOf(spec, texts, options.decoderIds)
  const warnings = checkBatch(batch, spec)
  const prompts = batch.main
  checkTokenTypes(options.tokenTypes, prompts, spec)
  const count = decoderOf(spec).layers.length
  const layers = options.layers ?? Array.from({ length: count + 1 }, (_, l) => l)
  const outside = layers.find((layer) => !Number.isInteger(layer) || layer < 0 || layer > count)
  if (outside !== undefined)
    throw new HeadscopeError(
      'bad-request',
      `There is no border ${outside}: they are numbered 0 (before block 0) to ${count} (after the last block).`,
    )
  const { answer } = options
  if (answer !== undefined && (!Number.isInteger(answer) || answer < 0 || answer >= spec.dVocab))
    throw new HeadscopeError(
      'bad-request',
      `The answer ${answer} is not a token id of this model (0 to ${spec.dVocab - 1}).`,
    )
  const cells = wantedCells(prompts, options.positions)
  const ids = rightPad(prompts)
  const cleanResiduals = async (): Promise<readonly Dense[]> => {
    const { borders } = await runPass(engine, {
      ...sourceOf(batch),
      ids,
      lengths: prompts.map((row) => row.length),
      tokenTypes: options.tokenTypes && rightPad(options.tokenTypes),
      start: 0,
      total: ids[0]!.length,
      wanted: new Set(),
      edits: [],
      keepBorders: true,
      signal: options.signal,
    })
    return borders.map((state) => state!.get('resid')!)
  }
  const residuals = options.edits?.length
    ? await editedResiduals(model, texts, options)
    : await cleanResiduals()
  const started = performance.now()
  const done: LensLayer[] = []
  for (const layer of layers) {
    throwIfCancelled(options.signal)
    const resid = residuals[layer]!
    done.push({ layer, positions: await readCells(model, resid, prompts, cells, options) })
    if (options.onLogits) await options.onLogits(layer, await fullLogits(model, resid, prompts))
    const seconds = (performance.now() - started) / 1000
    options.onProgress?.({
      done: done.length,
      total: layers.length,
      secondsLeft: (seconds / done.length) * (layers.length - done.length),
    })
  }
  return { layers: done, warnings }
}

// --- Internal helpers ---

/** Residuals at every border of a run with edits, [batch, pos, d_model]: as captured, so after an edit of them. */
async function editedResiduals(
  model: Model,
  texts: readonly (readonly number[])[],
  { edits, openRun, decoderIds, tokenTypes, signal }: LensOptions,
): Promise<readonly Dense[]> {
  const names = borderHooks(model.spec)
  const run = await model.run(
    texts.map((ids) => [...ids]),
    {
      capture: names,
      top: 0,
      edits: edits ?? [],
      ...(openRun ? { openRun } : {}),
      ...(decoderIds ? { decoderIds } : {}),
      ...(tokenTypes ? { tokenTypes } : {}),
      ...(signal ? { signal } : {}),
    },
  )
  return names.map((name) => run.get(name))
}

interface Place {
  readonly item: number
  readonly pos: number
}

function wantedCells(
  prompts: readonly (readonly number[])[],
  positions: readonly number[] | undefined,
): Place[] {
  const cells = prompts.flatMap((ids, item) =>
    (positions ?? ids.map((_, pos) => pos)).map((pos) => ({ item, pos: pos < 0 ? ids.length + pos : pos })),
  )
  for (const { item, pos } of cells)
    if (!Number.isInteger(pos) || pos < 0 || pos >= prompts[item]!.length)
      throw new HeadscopeError(
        'bad-request',
        `Prompt ${item} has no position ${pos}: it has ${prompts[item]!.length} tokens, numbered from 0.`,
      )
  return cells
}

/** The residual rows of cells as one batch of single rows, unembedded in chunks. */
async function readCells(
  model: Model,
  resid: Dense,
  prompts: readonly (readonly number[])[],
  cells: readonly Place[],
  { top = 5, answer }: LensOptions,
): Promise<LensCell[]> {
  const { dModel, dVocab } = model.spec
  const { causal } = decoderOf(model.spec)
  const rows = resid.shape[1]!
  const chunk = Math.max(1, Math.floor(LOGITS_BUDGET / (4 * dVocab)))
  const read: LensCell[] = []
  for (let first = 0; first < cells.length; first += chunk) {
    const some = cells.slice(first, first + chunk)
    const data = new Float32Array(some.length * dModel)
    some.forEach(({ item, pos }, n) => {
      const from = (item * rows + pos) * dModel
      data.set(resid.data.subarray(from, from + dModel), n * dModel)
    })
    const next = some.map(({ item, pos }) => (causal ? (prompts[item]![pos + 1] ?? null) : null))
    const whole = (values: readonly number[]): Feed => ({
      data: BigInt64Array.from(values, BigInt),
      shape: [1, some.length, 1],
    })
    const feeds = new Map<string, Feed>([
      [stateInput('resid'), { data, shape: [1, some.length, dModel] }],
      ['targets', whole(next.map((token) => token ?? 0))],
      ['top_count', { data: BigInt64Array.of(BigInt(Math.max(1, Math.min(top, dVocab)))), shape: [1] }],
      ['answers', whole(some.map(() => answer ?? 0))],
    ])
    const names = ['log_sum_exp', 'top_logits', 'top_ids', 'target_logit', 'mean_logit']
    if (answer !== undefined) names.push('answer_logit', 'answer_rank')
    const outputs = await runSegment(model.engine(), 'unembed', names, [], feeds, LENS)
    const floats = (name: string) => asFloats(outputs.get(name)!).data
    const sums = floats('log_sum_exp')
    const topLogits = floats('top_logits')
    const topIds = outputs.get('top_ids')!.data as BigInt64Array
    const width = topLogits.length / some.length
    const known = (value: number) => (Number.isFinite(value) ? value : null)
    some.forEach(({ item, pos }, n) => {
      const sum = sums[n]!
      read.push({
        item,
        pos,
        top: Array.from({ length: Math.min(top, width) }, (_, k) => {
          const logit = topLogits[n * width + k]!
          return { id: Number(topIds[n * width + k]!), logit, prob: known(Math.exp(logit - sum)) }
        }),
        entropy: known(sum - floats('mean_logit')[n]!),
        loss: next[n] === null ? null : known(sum - floats('target_logit')[n]!),
        rank: answer === undefined ? null : known(floats('answer_rank')[n]!),
        prob: answer === undefined ? null : known(Math.exp(floats('answer_logit')[n]! - sum)),
      })
    })
  }
  return read
}

/** The end of the model with what a lens asks beside the usual reductions. Entropy = log Σ e^logit - Σ p logit. */
const LENS: Variant = {
  key: 'lens',
  onPath: [],
  transform(graph: Graph): Graph {
    const logits = graph.results.get('logits')!
    const last: Node['attributes'] = { axis: -1n }
    const node = (
      op: string,
      inputs: string[],
      output: string,
      attributes: Node['attributes'] = {},
    ): Node => ({
      op,
      domain: '',
      inputs,
      outputs: [output],
      attributes,
    })
    const axis = { id: 'lens_axis', dtype: 'i64' as const, shape: [1], data: BigInt64Array.of(-1n) }
    return {
      ...graph,
      inputs: [...graph.inputs, { name: 'answers', dtype: 'i64', rank: 3 }],
      constants: [...graph.constants, axis],
      nodes: [
        ...graph.nodes,
        node('Mul', [graph.results.get('probs')!, logits], 'lens_weighted'),
        node('ReduceSum', ['lens_weighted', 'lens_axis'], 'mean_logit', { keepdims: 0n }),
        node('GatherElements', [logits, 'answers'], 'answer_logit', last),
        node('Greater', [logits, 'answer_logit'], 'lens_above'),
        node('Cast', ['lens_above'], 'lens_ones', { to: 1n }),
        node('ReduceSum', ['lens_ones', 'lens_axis'], 'answer_rank', { keepdims: 0n }),
      ],
      results: new Map([
        ...graph.results,
        ...['mean_logit', 'answer_logit', 'answer_rank'].map((name) => [name, name] as const),
      ]),
    }
  },
}

/** Every position's logits [batch, pos, d_vocab]; padding is 0. */
async function fullLogits(
  model: Model,
  resid: Dense,
  prompts: readonly (readonly number[])[],
): Promise<Dense> {
  const [batch, rows] = resid.shape as [number, number, number]
  const { dVocab } = model.spec
  const data = new Float32Array(batch * rows * dVocab)
  for (let item = 0; item < batch; item++) {
    const own = slice(slice(resid, 0, item, item + 1), 1, 0, prompts[item]!.length)
    const feeds = new Map<string, Feed>([[stateInput('resid'), own]])
    const outputs = await runSegment(model.engine(), 'unembed', ['logits'], [], feeds)
    data.set(asFloats(outputs.get('logits')!).data, item * rows * dVocab)
  }
  return { data, shape: [batch, rows, dVocab] }
}
