/**
 * Is this checkpoint run right? The identities say "self-consistent"; a golden file says "matches a reference".
 * Cost: about twenty forwards of a dozen tokens.
 */
import { createRandom } from '../../random.ts'
import type { Metric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import { attributionSum, lensLastRow } from './attribution.ts'
import type { Check } from './check.ts'
import { goldenChecks } from './golden.ts'
import { gradientIdentities } from './gradient-identities.ts'
import {
  decodeEqualsPass,
  headSum,
  outputHull,
  patternRows,
  prefix,
  residualSum,
  restarts,
  rotationLengths,
  shift,
} from './identities.ts'
import { type Probe, probeOf } from './probe.ts'

export type { Check } from './check.ts'
export type { Probe } from './probe.ts'

export interface VerifyOptions {
  /** A safetensors file of reference values; its hooks are compared beside the identities. */
  readonly golden?: string
  /** What the `grad.<hook>` of that file are gradients of; without it they are not compared, and a check says so. */
  readonly metric?: Metric
  /** Tokens of the prompt; default 12, or fewer where the model has fewer positions. */
  readonly length?: number
  readonly seed?: number
  readonly probe?: Probe
}

export interface Verified {
  readonly checks: readonly Check[]
  /** No check is false. */
  readonly ok: boolean
}

/** Runs every identity that applies. Throws what a run throws. */
export async function verify(model: Model, options: VerifyOptions = {}): Promise<Verified> {
  const probe = options.probe ?? probeOf(model)
  const length = Math.min(options.length ?? 12, model.spec.nCtx)
  const random = createRandom(options.seed ?? 1)
  const ids = Array.from({ length }, () => random.below(model.spec.dVocab))
  const captures = await probe.capture(ids)
  const checks = [
    patternRows(model, captures),
    outputHull(model, captures),
    rotationLengths(model, captures),
    residualSum(model, captures),
    headSum(model, captures),
    await decodeEqualsPass(probe, captures, ids),
    await prefix(probe, captures, ids),
    await shift(probe, captures, ids),
    ...(await restarts(probe, captures, ids)),
    await attributionSum(probe, captures, ids),
    await lensLastRow(probe, captures, ids),
    ...(await gradientIdentities(probe, ids)),
    ...(options.golden ? await goldenChecks(model, options.golden, options.metric) : []),
  ]
  return { checks, ok: checks.every((check) => check.ok !== false) }
}
