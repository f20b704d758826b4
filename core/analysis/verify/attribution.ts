/** Identities of what is read off the residual stream: attribution sums to the logit, the lens ends in the logits. */
import type { Tensor } from '../../graph/tensor.ts'
import { type Check, difference, measured, notApplicable } from './check.ts'
import type { Probe } from './probe.ts'

type Captures = ReadonlyMap<string, Tensor>

/** Components of the likeliest token at the last position sum to its logit before the cap. */
export async function attributionSum(
  probe: Probe,
  captures: Captures,
  ids: readonly number[],
): Promise<Check> {
  const name = 'direct logit attribution sums to the logit'
  const { data, shape } = captures.get('logits')!
  const row = data.subarray(data.length - shape[2]!)
  const answer = row.reduce((best, value, id) => (value > row[best]! ? id : best), 0)
  const { sum, logit, logit_after_cap, why } = await probe.attributed(ids, answer)
  if (why) return notApplicable(name, why)
  const size = Math.max(Math.abs(logit!), 1e-30)
  // The logit is the run's own, too: a sum of something else would not do.
  const own = Math.abs(logit_after_cap! - row[answer]!) / Math.max(Math.abs(row[answer]!), 1e-30)
  return measured(name, Math.max(Math.abs(sum! - logit!) / size, own))
}

/** The last row of the logit lens is the model's own output. */
export async function lensLastRow(probe: Probe, captures: Captures, ids: readonly number[]): Promise<Check> {
  return measured(
    'the last lens row = the logits',
    difference(await probe.lens(ids), captures.get('logits')!.data),
  )
}
