/** From the logits of one position to the next token. */
import { HeadscopeError } from '../errors.ts'
import type { Random } from '../random.ts'

export interface Sampling {
  /** 0: greedy, ties to the lowest id. */
  readonly temperature: number
  /** Only the k most likely; 0: all. */
  readonly topK: number
  /** Only the fewest whose probabilities reach this sum; 1: all. */
  readonly topP: number
}

/** Throws `bad-request` for a setting outside its range. */
export function checkSampling({ temperature, topK, topP }: Sampling): void {
  const refuse = (rule: string) => {
    throw new HeadscopeError('bad-request', rule)
  }
  if (!(temperature >= 0 && Number.isFinite(temperature)))
    refuse(`The temperature must be 0 or more, but is ${temperature}.`)
  if (!(Number.isInteger(topK) && topK >= 0))
    refuse(`top-k must be a whole number of 0 or more, but is ${topK}.`)
  if (!(topP > 0 && topP <= 1)) refuse(`top-p must lie above 0 and at most at 1, but is ${topP}.`)
}

/**
 * The next token and its log-probability under the model (temperature 1, nothing cut). p_j ∝ exp(z_j / temperature).
 * Throws `bad-request` when no logit is finite.
 */
export function sample(
  logits: Float32Array,
  settings: Sampling,
  random: Random,
): { id: number; logProb: number } {
  let best = -1
  for (let id = 0; id < logits.length; id++)
    if (Number.isFinite(logits[id]!) && (best < 0 || logits[id]! > logits[best]!)) best = id
  if (best < 0)
    throw new HeadscopeError('bad-request', 'No logit is a finite number, so there is no next token.')
  const id = settings.temperature === 0 ? best : draw(logits, settings, random)
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - logits[best]!)
  return { id, logProb: logits[id]! - logits[best]! - Math.log(sum) }
}

// --- Internal helpers ---

function draw(logits: Float32Array, { temperature, topK, topP }: Sampling, random: Random): number {
  const ids = Array.from(logits.keys()).filter((id) => Number.isFinite(logits[id]!))
  ids.sort((a, b) => logits[b]! - logits[a]! || a - b)
  const kept = topK > 0 ? ids.slice(0, topK) : ids
  const weights = kept.map((id) => Math.exp((logits[id]! - logits[kept[0]!]!) / temperature))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let end = 0
  for (let mass = 0; end < kept.length && mass < topP * total; end++) mass += weights[end]!
  const mass = weights.slice(0, end).reduce((sum, weight) => sum + weight, 0)
  let left = random.next() * mass
  for (let i = 0; i < end; i++) {
    left -= weights[i]!
    if (left < 0) return kept[i]!
  }
  return kept[end - 1]!
}
