/**
 * Is this checkpoint run right? The identities say "self-consistent"; a golden file says "matches a reference".
 * Cost: about twenty forwards of a dozen tokens.
 */
import type { Progress } from '../../checkpoint/types.ts'
import { createRandom } from '../../random.ts'
import type { Metric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import { throwIfCancelled } from '../../run/pass.ts'
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
  readonly signal?: AbortSignal
  /** After each group of checks. */
  readonly onProgress?: (progress: Progress) => void
}

export interface Verified {
  readonly checks: readonly Check[]
  /** No check is false. */
  readonly ok: boolean
}

/** Runs every identity that applies. Throws what a run throws, and `cancelled` by the signal. */
export async function verify(model: Model, options: VerifyOptions = {}): Promise<Verified> {
  const probe = options.probe ?? probeOf(model, options.signal)
  const length = Math.min(options.length ?? 12, model.spec.nCtx)
  const random = createRandom(options.seed ?? 1)
  const ids = Array.from({ length }, () => random.below(model.spec.dVocab))
  const captures = await probe.capture(ids)
  const { golden, metric, signal } = options
  const groups: (() => Check | readonly Check[] | Promise<Check | readonly Check[]>)[] = [
    () => patternRows(model, captures),
    () => outputHull(model, captures),
    () => rotationLengths(model, captures),
    () => residualSum(model, captures),
    () => headSum(model, captures),
    () => decodeEqualsPass(probe, captures, ids),
    () => prefix(probe, captures, ids),
    () => shift(probe, captures, ids),
    () => restarts(probe, captures, ids),
    () => attributionSum(probe, captures, ids),
    () => lensLastRow(probe, captures, ids),
    () => gradientIdentities(probe, ids),
    ...(golden ? [() => goldenChecks(model, golden, metric, signal)] : []),
  ]
  const checks: Check[] = []
  const started = performance.now()
  for (const [i, group] of groups.entries()) {
    throwIfCancelled(signal)
    checks.push(...[await group()].flat())
    const seconds = (performance.now() - started) / 1000
    const left = (seconds / (i + 1)) * (groups.length - i - 1)
    options.onProgress?.({ done: i + 1, total: groups.length, secondsLeft: left })
  }
  return { checks, ok: checks.every((check) => check.ok !== false) }
}
