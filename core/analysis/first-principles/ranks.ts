/**
 * Low rank: the effective maps W_V W_O and W_Q W_Kᵀ of a head have rank at most d_head; its pattern need not be low
 * rank. In: a head's run. Out: singular values, largest first, and how many count. Cost: d_model d_head² and T³.
 */
import { headMatrix, outputMatrix } from '../head-weights.ts'
import { matrix, productSingularValues, singularValues, transpose } from '../matrix.ts'
import type { HeadRun } from './head-run.ts'

export interface Spectrum {
  readonly values: readonly number[]
  /** Values above `tolerance` of the largest. */
  readonly rank: number
  readonly atMost: number
}

/** Spectra of W_V W_O, W_Q W_Kᵀ (before rotary and QK-norm) and the pattern. */
export function headSpectra(run: HeadRun): {
  readonly ov: Spectrum
  readonly qk: Spectrum
  readonly pattern: Spectrum
} {
  const { weights, head, spec } = run
  const ov = productSingularValues(headMatrix(weights, 'v', head), outputMatrix(weights, head))
  const qk = productSingularValues(headMatrix(weights, 'q', head), transpose(headMatrix(weights, 'k', head)))
  const { data, rows, width } = run.pattern
  return {
    ov: spectrum(ov, spec.dHead, 1e-6),
    qk: spectrum(qk, spec.dHead, 1e-6),
    pattern: spectrum(singularValues(matrix(rows, width, data)), Math.min(rows, width), 1e-6),
  }
}

/** Singular values with their rank. */
export function spectrum(values: Float64Array, atMost: number, tolerance: number): Spectrum {
  const largest = values[0] ?? 0
  return {
    values: Array.from(values),
    rank: values.filter((value) => value > tolerance * largest).length,
    atMost,
  }
}
