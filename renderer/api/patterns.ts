/** The last patterns that were fetched, within a memory budget, so that going back to a head costs no request. */
import { api } from './client.ts'
import type { Pattern } from './pattern.ts'

const BUDGET = 64 * 2 ** 20 // bytes
const kept = new Map<string, Pattern>() // oldest first
let bytes = 0

function keyOf(run: number, layer: number, head: number): string {
  return `${run}/${layer}/${head}`
}

export function peekPattern(run: number, layer: number, head: number): Pattern | undefined {
  return kept.get(keyOf(run, layer, head))
}

export async function fetchPattern(run: number, layer: number, head: number): Promise<Pattern> {
  const key = keyOf(run, layer, head)
  const found = kept.get(key)
  if (found) {
    kept.delete(key) // to the young end
    kept.set(key, found)
    return found
  }
  const pattern = await api.pattern(run, layer, head)
  if (!kept.has(key)) {
    kept.set(key, pattern)
    bytes += pattern.data.byteLength
    for (const [old, value] of kept) {
      if (bytes <= BUDGET || old === key) break
      kept.delete(old)
      bytes -= value.data.byteLength
    }
  }
  return pattern
}
