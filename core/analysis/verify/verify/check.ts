/** What a check says, and how errors are measured. */

export interface Check {
  readonly name: string
  /** Largest difference over the largest reference value; null when it does not apply. */
  readonly max_error: number | null
  readonly tolerance: number
  readonly ok: boolean | null
  readonly why?: string
}

/** Float32 noise of a block stays well below this share of the largest value; a mistake does not. */
export const TOLERANCE = 1e-4

/** A check that ran. */
export function measured(name: string, error: number, tolerance = TOLERANCE): Check {
  const broken = Number.isNaN(error)
  return {
    name,
    max_error: Number.isFinite(error) ? error : null,
    tolerance,
    ok: !broken && error <= tolerance,
    ...(Number.isFinite(error) ? {} : { why: 'some value is not a finite number' }),
  }
}

/** A check that this model cannot have. */
export function notApplicable(name: string, why: string): Check {
  return { name, max_error: null, tolerance: TOLERANCE, ok: null, why: `not applicable: ${why}` }
}

/** Largest |a - b| over the largest |b|. NaN where either holds one. */
export function difference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return Number.NaN
  let largest = 0
  let error = 0
  for (let i = 0; i < a.length; i++) {
    if (a[i] === b[i]) {
      if (Number.isFinite(b[i])) largest = Math.max(largest, Math.abs(b[i]!))
      continue
    }
    error = Math.max(error, Math.abs(a[i]! - b[i]!))
    if (Number.isNaN(error)) return error
    largest = Math.max(largest, Math.abs(b[i]!))
  }
  return largest === 0 ? error : error / largest
}
