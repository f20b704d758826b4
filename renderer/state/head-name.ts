/** Names of heads as people write them. Pure. */

export interface HeadId {
  readonly layer: number
  readonly head: number
}

/** `L5H1`. */
export function headName(id: HeadId): string {
  return `L${id.layer}H${id.head}`
}

/** Reads `L5H1`, `l5h1` or `5.1`; null for anything else. */
export function parseHead(text: string): HeadId | null {
  const match = /^\s*(?:l(\d+)\s*h(\d+)|(\d+)\.(\d+))\s*$/i.exec(text)
  if (!match) return null
  return { layer: Number(match[1] ?? match[3]), head: Number(match[2] ?? match[4]) }
}

/** Whether a model has this head. */
export function hasHead(
  { n_layers, n_heads }: { readonly n_layers: number; readonly n_heads: number },
  { layer, head }: HeadId,
): boolean {
  return layer < n_layers && head < n_heads
}

export function sameHead(a: HeadId | null, b: HeadId | null): boolean {
  return a === b || (a !== null && b !== null && a.layer === b.layer && a.head === b.head)
}
