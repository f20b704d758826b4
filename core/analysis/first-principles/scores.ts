/**
 * The scores of a head worked out again from the vectors that meet in them, so that a step can be changed: no scale, no
 * mask, a temperature, typed numbers. In: a head's run. Out: [query, key] in float64. Cost: T² d_head.
 */

import { HeadscopeError } from '../../errors.ts'
import type { ModelSpec } from '../../graph/model-spec.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import { visible } from '../../run/attention-bias.ts'
import { type HeadRun, products } from './head-run.ts'

export interface ScoreChanges {
  /** Factor on q · k in place of the family's (1 drops √d_k). */
  readonly scale?: number
  /** Every query sees every key. */
  readonly noMask?: boolean
  /** Divides the finished scores; above 0. */
  readonly temperature?: number
  /** Finished scores that were typed. */
  readonly typed?: readonly { readonly query: number; readonly key: number; readonly score: number }[]
  /** Scores that were typed on the way; what follows is worked out from them. */
  readonly onTheWay?: readonly {
    readonly at: 'scaled' | 'placed' | 'capped' | 'biased'
    readonly query: number
    readonly key: number
    readonly score: number
  }[]
}

/** Steps from products to finished scores, each [query, key]; hidden pairs are -∞ in `scores`. */
export interface ScoreSteps {
  readonly products: Float64Array
  readonly scaled: Float64Array
  /** With ALiBi's slope · key position; the same as `scaled` without. */
  readonly placed: Float64Array
  /** Under the soft-cap; the same as `placed` without. */
  readonly capped: Float64Array
  /** With the bias by distance (T5); the same as `capped` without. */
  readonly biased: Float64Array
  readonly scores: Float64Array
}

/** Throws `bad-request` for a temperature or a typed score that cannot be. */
export function scoreSteps(spec: ModelSpec, run: HeadRun, changes: ScoreChanges = {}): ScoreSteps {
  const { scoreScale, alibi, softcap, window } = run.spec
  const sizes = { query: run.rotQ.rows, key: run.rotK.rows }
  const length = sizes.key
  const { temperature = 1, typed = [], onTheWay = [] } = changes
  if (!(temperature > 0) || !Number.isFinite(temperature))
    throw new HeadscopeError('bad-request', `The temperature ${temperature} must be a number above 0.`)
  const scale = changes.scale ?? scoreScale
  const raw = products(run.rotQ, run.rotK)
  const withTyped = (at: (typeof onTheWay)[number]['at'], values: Float64Array) => {
    const own = onTheWay.filter((one) => one.at === at)
    if (own.length === 0) return values
    const changed = values.slice()
    for (const { query, key, score } of own) changed[query * length + key] = score
    return changed
  }
  for (const pair of [...typed, ...onTheWay]) checkPair(pair, sizes)
  const scaled = withTyped(
    'scaled',
    raw.map((value) => value * scale),
  )
  // Softmax sees differences only, so the position itself may stand for the distance.
  const slope = alibi ? alibi.slopes[run.head]! * alibi.scale : 0
  const placed = withTyped(
    'placed',
    scaled.map((value, n) => value + slope * (n % length)),
  )
  const capped = withTyped(
    'capped',
    softcap === null ? placed : placed.map((value) => softcap * Math.tanh(value / softcap)),
  )
  const shape = { causal: decoderOf(spec).causal, window }
  const { distances } = run
  const biased = withTyped(
    'biased',
    distances ? capped.map((value, n) => value + distances.data[n]!) : capped,
  )
  const scores = biased.map((value, n) => {
    const seen = changes.noMask || run.cross || visible(shape, Math.floor(n / length), n % length, length)
    return seen ? value / temperature : Number.NEGATIVE_INFINITY
  })
  for (const { query, key, score } of typed) scores[query * length + key] = score
  return { products: raw, scaled, placed, capped, biased, scores }
}

/** exp(z_j / τ) / Σ exp(z_r / τ) of one row; τ = 0 puts all on the largest, ties to the lowest index. */
export function softmax(row: ArrayLike<number>, temperature = 1): Float64Array {
  const values = Float64Array.from(row)
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  if (temperature === 0) {
    const first = values.indexOf(most)
    return values.map((_, i) => (i === first ? 1 : 0))
  }
  if (!(temperature > 0))
    throw new HeadscopeError('bad-request', `The temperature ${temperature} must be 0 or more.`)
  const raised = values.map((value) => Math.exp((value - most) / temperature))
  const sum = raised.reduce((a, b) => a + b, 0)
  return raised.map((value) => value / sum)
}

// --- Internal helpers ---

function checkPair(
  { query, key, score }: { readonly query: number; readonly key: number; readonly score: number },
  sizes: { readonly query: number; readonly key: number },
): void {
  for (const [name, at] of [
    ['query', query],
    ['key', key],
  ] as const)
    if (!Number.isInteger(at) || at < 0 || at >= sizes[name])
      throw new HeadscopeError(
        'bad-request',
        `There is no ${name} ${at}: its text has ${sizes[name]} tokens, numbered from 0.`,
      )
  if (!Number.isFinite(score))
    throw new HeadscopeError('bad-request', `The score of query ${query} and key ${key} must be a number.`)
}
