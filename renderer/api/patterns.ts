/** The last patterns that were fetched, within a memory budget, so that going back to a head costs no request. */
import type { RunDetail } from '../../core/api/contract.ts'
import { type HeadId, nextAlong } from '../state/selection.ts'
import { showTogetherWith } from '../state/store.ts'
import { api } from './client.ts'
import type { Pattern } from './pattern.ts'
import { queryClient } from './query-client.ts'

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
  let before: HeadId | null = null
  showTogetherWith(({ run, head }) => {
    if (run === null || head === null) return null
    if (before) fetchNext(run, before, head)
    before = head
    if (peekPattern(run, head.layer, head.head)) return null
    return fetchPattern(run, head.layer, head.head) // the view that shows it says what is wrong
  })
}

const QUIET_MS = 80 // after the picture, not before it
let resting: ReturnType<typeof setTimeout> | undefined

/** A step to a head beside is often followed by another: fetches the head it leads to, once the eye rests on this one. */
function fetchNext(run: number, before: HeadId, head: HeadId): void {
  clearTimeout(resting)
  const spec = queryClient.getQueryData<RunDetail>(['run', run])?.spec
  const next = spec && nextAlong(before, head, spec)
  if (!next) return
  resting = setTimeout(() => {
    fetchPattern(run, next.layer, next.head).catch(() => undefined) // asked for again when it is shown
  }, QUIET_MS)
}
