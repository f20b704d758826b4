/**
 * What an intervention is judged by: one number of the logits, and its gradient. Kinds: logit_diff, logit, logprob,
 * prob at one position; loss (mean, or at one position); kl (from the unedited run), nats.
 */
import type { Tokenizer } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { plainIds } from './plain-ids.ts'

export interface Metric {
  readonly kind: 'logit_diff' | 'logit' | 'logprob' | 'prob' | 'loss' | 'kl'
  /** Item of the batch; default 0. */
  readonly item?: number
  /** Position; negative counts from the item's end. Default -1; for loss and kl: all of them. */
  readonly pos?: number
  /** Token id, or a text that is one token. */
  readonly answer?: number | string
  readonly wrong?: number | string
}

export interface ResolvedMetric {
  readonly kind: Metric['kind']
  readonly item: number
  /** Positions whose logits are looked at, ascending. */
  readonly positions: readonly number[]
  readonly answer: number | null
  readonly wrong: number | null
  /** For loss: the token that follows each position. */
  readonly targets: readonly number[]
}

/** Logits of the metric's positions, [positions, d_vocab] flat. */
export type MetricRows = Float32Array

/**
 * Metrics of one or two logits: which tokens they are, and the metric over these alone, so that only their rows of the
 * unembedding are read. null for a metric that needs every logit.
 */
export function fewTokens(metric: ResolvedMetric): { tokens: number[]; metric: ResolvedMetric } | null {
  if (metric.kind === 'logit') return { tokens: [metric.answer!], metric: { ...metric, answer: 0 } }
  if (metric.kind !== 'logit_diff') return null
  return { tokens: [metric.answer!, metric.wrong!], metric: { ...metric, answer: 0, wrong: 1 } }
}

/** Checks a metric against prompts. Throws `bad-edit` naming the token, the rule and what was found. */
export function resolveMetric(
  metric: Metric,
  prompts: readonly (readonly number[])[],
  vocab: number,
  tokenizer: Tokenizer | null,
): ResolvedMetric {
  const item = metric.item ?? 0
  const ids = prompts[item]
  if (!ids || !Number.isInteger(item))
    throw new HeadscopeError(
      'bad-edit',
      `The metric looks at item ${item}, but there ${prompts.length === 1 ? 'is 1 prompt' : `are ${prompts.length} prompts`}, numbered from 0.`,
    )
  const token = (value: number | string | undefined, name: string) => tokenId(value, name, vocab, tokenizer)
  const one = () => [position(metric.pos ?? -1, ids.length)]
  switch (metric.kind) {
    case 'logit_diff': {
      const [answer, wrong] = [token(metric.answer, 'answer'), token(metric.wrong, 'wrong')]
      return { kind: metric.kind, item, positions: one(), answer, wrong, targets: [] }
    }
    case 'logit':
    case 'logprob':
    case 'prob':
      return {
        kind: metric.kind,
        item,
        positions: one(),
        answer: token(metric.answer, 'answer'),
        wrong: null,
        targets: [],
      }
    case 'loss': {
      const positions = metric.pos === undefined ? range(ids.length - 1) : [position(metric.pos, ids.length)]
      const targets = positions.map((pos) => ids[pos + 1] ?? -1)
      if (positions.length === 0 || targets.includes(-1))
        throw new HeadscopeError(
          'bad-edit',
          'The loss of a position is that of the token after it, and the last position has none; choose an earlier one.',
        )
      return { kind: 'loss', item, positions, answer: null, wrong: null, targets }
    }
    case 'kl': {
      const positions = metric.pos === undefined ? range(ids.length) : [position(metric.pos, ids.length)]
      return { kind: 'kl', item, positions, answer: null, wrong: null, targets: [] }
    }
    default:
      throw new HeadscopeError(
        'bad-edit',
        `"${String(metric.kind)}" is not a metric; use logit_diff, logit, logprob, prob, loss or kl.`,
      )
  }
}

/** The metric's value. `base`: the same rows of the unedited run, for kl. */
export function metricValue(metric: ResolvedMetric, rows: MetricRows, base: MetricRows | null): number {
  const vocab = rows.length / metric.positions.length
  const row = (i: number) => rows.subarray(i * vocab, (i + 1) * vocab)
  const first = row(0)
  switch (metric.kind) {
    case 'logit_diff':
      return first[metric.answer!]! - first[metric.wrong!]!
    case 'logit':
      return first[metric.answer!]!
    case 'logprob':
      return first[metric.answer!]! - logSumExp(first)
    case 'prob':
      return Math.exp(first[metric.answer!]! - logSumExp(first))
    case 'loss':
      return mean(metric.targets.map((target, i) => logSumExp(row(i)) - row(i)[target]!))
    case 'kl':
      return mean(
        metric.positions.map((_, i) => divergence(base!.subarray(i * vocab, (i + 1) * vocab), row(i))),
      )
  }
}

/** ∂metric/∂logits of its rows, [positions, d_vocab] flat. */
export function metricGradient(
  metric: ResolvedMetric,
  rows: MetricRows,
  base: MetricRows | null,
): Float32Array {
  const count = metric.positions.length
  const vocab = rows.length / count
  const grad = new Float32Array(rows.length)
  const add = (id: number, value: number, i = 0) => {
    grad[i * vocab + id]! += value
  }
  const addSoftmax = (logits: Float32Array, factor: number, i: number) => {
    const sum = logSumExp(logits)
    for (let id = 0; id < vocab; id++) add(id, factor * Math.exp(logits[id]! - sum), i)
  }
  switch (metric.kind) {
    case 'logit_diff':
      add(metric.answer!, 1)
      add(metric.wrong!, -1)
      return grad
    case 'logit':
      add(metric.answer!, 1)
      return grad
    case 'logprob':
      add(metric.answer!, 1)
      addSoftmax(rows, -1, 0)
      return grad
    case 'prob': {
      const p = metricValue(metric, rows, null)
      add(metric.answer!, p)
      addSoftmax(rows, -p, 0)
      return grad
    }
    default:
      // loss: (softmax - one-hot) / n; kl(P ‖ Q): (Q - P) / n
      for (let i = 0; i < count; i++) {
        addSoftmax(rows.subarray(i * vocab, (i + 1) * vocab), 1 / count, i)
        if (metric.kind === 'loss') add(metric.targets[i]!, -1 / count, i)
        else addSoftmax(base!.subarray(i * vocab, (i + 1) * vocab), -1 / count, i)
      }
      return grad
  }
}

// --- Internal helpers ---

function position(pos: number, length: number): number {
  const at = pos < 0 ? length + pos : pos
  if (Number.isInteger(pos) && at >= 0 && at < length) return at
  throw new HeadscopeError(
    'bad-edit',
    `The metric looks at position ${pos}, but the prompt has ${length} tokens, numbered 0 to ${length - 1}.`,
  )
}

function tokenId(
  value: number | string | undefined,
  name: string,
  vocab: number,
  tokenizer: Tokenizer | null,
): number {
  if (value === undefined)
    throw new HeadscopeError(
      'bad-edit',
      `This metric needs "${name}": a token id, or a text that is one token.`,
    )
  if (typeof value === 'number') {
    if (Number.isInteger(value) && value >= 0 && value < vocab) return value
    throw new HeadscopeError(
      'bad-edit',
      `The ${name} ${value} is not a token id of this model (0 to ${vocab - 1}).`,
    )
  }
  if (!tokenizer)
    throw new HeadscopeError(
      'bad-edit',
      `This checkpoint has no tokenizer, so the ${name} "${value}" cannot be read; give its id.`,
    )
  const ids = plainIds(tokenizer, value)
  if (ids.length === 1) return ids[0]!
  const parts = tokenizer.view(ids).map((view) => view.text)
  throw new HeadscopeError(
    'bad-edit',
    `The ${name} ${JSON.stringify(value)} is ${ids.length} tokens (${parts.join(' | ')}), but a metric looks at one; choose a text that is one token, or give an id.`,
  )
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function logSumExp(logits: Float32Array): number {
  let largest = Number.NEGATIVE_INFINITY
  for (const logit of logits) largest = Math.max(largest, logit)
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - largest)
  return largest + Math.log(sum)
}

/** KL(P ‖ Q) of two rows of logits, nats. */
function divergence(p: Float32Array, q: Float32Array): number {
  const [sumP, sumQ] = [logSumExp(p), logSumExp(q)]
  let total = 0
  for (let id = 0; id < p.length; id++) {
    const logP = p[id]! - sumP
    total += Math.exp(logP) * (logP - (q[id]! - sumQ))
  }
  return total
}
