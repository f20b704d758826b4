/** "a:b" slices, lists and negative numbers → indices. */
import { HeadscopeError } from '../errors.ts'
import type { Indices } from './types.ts'

/**
 * The indices that a selector names among `size` entries; negative numbers count from the end. Throws `bad-edit`
 * naming the index, what it counts and how many there are.
 */
export function resolveIndices(selector: Indices | undefined, size: number, what: string): number[] {
  if (selector === undefined) return Array.from({ length: size }, (_, i) => i)
  if (typeof selector === 'string') return resolveSlice(selector, size, what)
  const list = typeof selector === 'number' ? [selector] : selector
  if (!Array.isArray(list))
    throw new HeadscopeError(
      'bad-edit',
      `${what} is ${JSON.stringify(selector)}, but must be a number, a list of numbers, or a slice such as "4:".`,
    )
  if (list.length === 0)
    throw new HeadscopeError('bad-edit', `The edit names no ${what}; give one or leave it out.`)
  return list.map((index) => {
    const at = index < 0 ? size + index : index
    if (!Number.isInteger(index) || at < 0 || at >= size)
      throw new HeadscopeError(
        'bad-edit',
        `There is no ${what} ${index}: there ${size === 1 ? 'is 1' : `are ${size}`}, numbered 0 to ${size - 1}.`,
      )
    return at
  })
}

// --- Internal helpers ---

function resolveSlice(text: string, size: number, what: string): number[] {
  const match = /^(-?\d+)?:(-?\d+)?$/.exec(text)
  if (!match)
    throw new HeadscopeError('bad-edit', `${what} "${text}" is not a slice; write "a:b", "a:" or ":b".`)
  const bound = (part: string | undefined, absent: number) => {
    if (part === undefined) return absent
    const n = Number(part)
    return Math.min(size, Math.max(0, n < 0 ? size + n : n))
  }
  const first = bound(match[1], 0)
  const end = bound(match[2], size)
  if (first >= end)
    throw new HeadscopeError(
      'bad-edit',
      `The slice "${text}" names no ${what}: there are ${size}, numbered 0 to ${size - 1}.`,
    )
  return Array.from({ length: end - first }, (_, i) => first + i)
}
