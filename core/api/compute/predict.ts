/**
 * What a model says with and without edits. In: an open model, ids, edits. Out: likeliest tokens at one position and,
 * where asked, at several, with the divergence that the edits make there. Costs one forward, or two with edits.
 */
import type { TokenView } from '../../checkpoint/types.ts'
import { HeadscopeError } from '../../errors.ts'
import { metricValue } from '../../run/metrics.ts'
import type { Prediction, Run, RunOptions } from '../../run/types.ts'
import type { NamedPrediction, PredictReply } from '../contract.ts'
import type { EngineModel } from './engine.ts'

export interface PredictAsked {
  readonly ids: number[]
  /** Tokens of the text that is continued. */
  readonly length: number
  readonly edits: NonNullable<RunOptions['edits']>
  readonly pos: number
  readonly positions: readonly number[]
  readonly view: (id: number) => TokenView
}

/** Throws `bad-request` for a position outside of the prompt, and what a run throws. */
export async function predict(
  model: EngineModel,
  { ids, length, edits, pos, positions, view }: PredictAsked,
  options: RunOptions,
): Promise<PredictReply> {
  const at = position(pos, length)
  const asked = positions.map((one) => position(one, length))
  const plain = await runWithRows(model, ids, asked, options)
  const edited = edits.length === 0 ? plain : await runWithRows(model, ids, asked, { ...options, edits })
  const topOf = (run: Run, place: number): NamedPrediction['top'] =>
    run.items[0]!.positions[place]!.top.map(({ id, prob, logit }) => ({ token: view(id), prob, logit }))
  const named = (run: Run): NamedPrediction => ({ pos: at, top: topOf(run, at), loss: run.items[0]!.loss })
  return {
    base: named(plain.run),
    edited: named(edited.run),
    positions: asked.map((place, i) => ({
      pos: place,
      base: topOf(plain.run, place),
      edited: topOf(edited.run, place),
      kl: divergence(plain, edited, place, i),
    })),
  }
}

// --- Internal helpers ---

interface Rows {
  readonly run: Run
  /** Logits of the asked positions, [d_vocab] each. */
  readonly rows: readonly Float32Array[]
}

async function runWithRows(
  model: EngineModel,
  ids: number[],
  positions: readonly number[],
  options: RunOptions,
): Promise<Rows> {
  if (positions.length === 0) return { run: await model.run(ids, options), rows: [] }
  let rows: Float32Array[] = []
  const run = await model.run(ids, {
    ...options,
    capture: ['logits'],
    onCapture(_, { data, shape }) {
      const vocab = shape[2]!
      rows = positions.map((pos) => data.slice(pos * vocab, (pos + 1) * vocab))
    },
  })
  return { run, rows }
}

/** KL(unedited ‖ edited), nats; null where a probability does not exist. */
function divergence(plain: Rows, edited: Rows, pos: number, i: number): number | null {
  const known = ({ run }: Rows) =>
    run.items[0]!.positions[pos]!.top.every((one: Prediction['top'][number]) => one.prob !== null)
  if (!known(plain) || !known(edited)) return null
  const metric = { kind: 'kl', item: 0, positions: [pos], answer: null, wrong: null, targets: [] } as const
  const value = metricValue(metric, edited.rows[i]!, plain.rows[i]!)
  // Rounding can leave a distance of nothing a hair below 0.
  return Number.isFinite(value) ? Math.max(0, value) : null
}

function position(pos: number, length: number): number {
  const at = pos < 0 ? length + pos : pos
  if (at >= 0 && at < length) return at
  throw new HeadscopeError('bad-request', `Position ${pos} is outside of this prompt of ${length} tokens.`)
}
