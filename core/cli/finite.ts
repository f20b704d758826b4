/** JSON has no NaN and no infinity: such a number becomes null, and the object that holds it says why. */

/** A copy whose numbers are finite. A `why` that is there already stays. */
export function finite(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (Array.isArray(value)) return value.map(finite)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>, finite)
  if (typeof value !== 'object' || value === null) return value
  const broken = Object.entries(value).filter(([, v]) => typeof v === 'number' && !Number.isFinite(v))
  const copy: Record<string, unknown> = {}
  for (const [key, entry] of Object.entries(value)) copy[key] = finite(entry)
  if (broken.length > 0)
    copy.why ??= `${broken.map(([name, number]) => `${name} is ${number}`).join(', ')}: not a finite number`
  return copy
}
