/** The last patterns that were fetched, within a memory budget, so that going back to a head costs no request. */
import { type HeadId, walked } from '../state/selection.ts'
import { getSelection, showTogetherWith } from '../state/store.ts'
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
  const coming = underway.get(key)
  if (coming) return coming
  const request = load(run, layer, head).finally(() => underway.delete(key))
  underway.set(key, request)
  return request
}

/** What is being fetched: asked for twice, it is one request. */
const underway = new Map<string, Promise<Pattern>>()

async function load(run: number, layer: number, head: number): Promise<Pattern> {
  const key = keyOf(run, layer, head)
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

/** Asks for the pattern of a head in the moment it is chosen; the window shows both together. Called once, at the start. */
export function fetchAsChosen(): void {
  showTogetherWith(({ run, head }) => {
    if (run === null || head === null || peekPattern(run, head.layer, head.head)) return null
    return fetchPattern(run, head.layer, head.head) // the view that shows it says what is wrong
  })
}

const QUIET_MS = 150 // a walk goes on: do not compete with it
let resting: ReturnType<typeof setTimeout> | null = null

/**
 * Once the eye rests on a head, fetches the heads around it, so that the next arrow key finds its pattern here: one
 * after the other and only while it rests, so that the head that is chosen next waits for one of them at most.
 */
export function prefetchAround(run: number, head: HeadId, spec: { n_layers: number; n_heads: number }): void {
  if (resting !== null) clearTimeout(resting)
  const rests = () => {
    const now = getSelection()
    return now.run === run && now.head?.layer === head.layer && now.head.head === head.head
  }
  resting = setTimeout(async () => {
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowUp', 'ArrowDown']) {
      const next = walked(key, head, spec)
      if (!rests()) return
      if (next) await fetchPattern(run, next.layer, next.head).catch(() => undefined) // asked for again when it is shown
    }
  }, QUIET_MS)
}
