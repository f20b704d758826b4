/**
 * The metric that sweeps are judged by, as tab settings in the address. In: texts of the fields. Out: a Metric, or what is
 * missing. A token is kept as `id text`, so that it can be shown without asking.
 */
import type { TokenView } from '../../core/checkpoint/types.ts'
import type { Metric } from '../../core/intervene/types.ts'

export type MetricKind = Metric['kind']

export const METRICS: readonly {
  readonly value: MetricKind
  readonly label: string
  readonly says: string
}[] = [
  {
    value: 'logit_diff',
    label: 'logit difference',
    says: 'logit of the answer minus logit of the wrong token',
  },
  { value: 'logprob', label: 'log probability', says: 'log probability of the answer, nats' },
  { value: 'prob', label: 'probability', says: 'probability of the answer' },
  { value: 'logit', label: 'logit', says: 'logit of the answer' },
  { value: 'loss', label: 'loss', says: 'mean next-token loss over the prompt, nats' },
  { value: 'kl', label: 'KL divergence', says: 'KL divergence from the unedited run, nats' },
]

export function needsAnswer(kind: MetricKind): boolean {
  return kind !== 'loss' && kind !== 'kl'
}

export interface ChosenToken {
  readonly id: number
  readonly text: string
}

export function formatToken(token: Pick<TokenView, 'id' | 'text'>): string {
  return `${token.id} ${token.text}`
}

export function parseToken(text: string): ChosenToken | null {
  const match = /^(\d{1,9})(?: ([\s\S]*))?$/.exec(text)
  return match ? { id: Number(match[1]), text: match[2] ?? `#${match[1]}` } : null
}

/** The metric, or null while a token is missing. `pos` null: the last position (loss, kl: all). */
export function metricOf(
  kind: MetricKind,
  answer: ChosenToken | null,
  wrong: ChosenToken | null,
  pos: number | null,
): Metric | null {
  if (needsAnswer(kind) && !answer) return null
  if (kind === 'logit_diff' && !wrong) return null
  return {
    kind,
    ...(pos === null ? {} : { pos }),
    ...(needsAnswer(kind) ? { answer: answer!.id } : {}),
    ...(kind === 'logit_diff' ? { wrong: wrong!.id } : {}),
  }
}

/** Names of tokens whose text is known, as a metric's text has them; others are their ids. */
export function tokenNames(known: readonly Pick<TokenView, 'id' | 'text'>[]): (id: number) => string {
  return (id) => {
    const found = known.find((view) => view.id === id)
    return found ? `‘${found.text}’` : `#${id}`
  }
}

export function metricText(metric: Metric, name: (id: number) => string): string {
  const label = METRICS.find((m) => m.value === metric.kind)?.label ?? metric.kind
  const token = (given: number | string | undefined) =>
    typeof given === 'number' ? name(given) : (given ?? '')
  const of = metric.answer === undefined ? '' : ` of ${token(metric.answer)}`
  const against = metric.wrong === undefined ? '' : ` against ${token(metric.wrong)}`
  return `${label}${of}${against}${metric.pos === undefined ? '' : ` at ${metric.pos}`}`
}

/** The position that a metric was set to, of a prompt of `length` tokens; null where it is the one that it has unasked. */
export function metricPosition({ kind, pos }: Metric, length: number): number | null {
  if (pos === undefined) return null
  const at = pos < 0 ? pos + length : pos
  return needsAnswer(kind) && at === length - 1 ? null : at
}

/**
 * Whether a stored metric is the one that is set. A stored token may be a text: then the chosen token has to be kept
 * with that text.
 */
export function sameMetric(
  stored: Metric,
  set: Metric | null,
  chosen: { readonly answer?: string | undefined; readonly wrong?: string | undefined },
  length: number,
): boolean {
  if (!set || stored.kind !== set.kind) return false
  if (metricPosition(stored, length) !== metricPosition(set, length)) return false
  return (['answer', 'wrong'] as const).every((name) => {
    const given = stored[name]
    return typeof given === 'string' ? parseToken(chosen[name] ?? '')?.text === given : given === set[name]
  })
}
