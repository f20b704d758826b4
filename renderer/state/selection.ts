/**
 * What the user is looking at, as one plain record, and its form in the address. In: a hash such as
 * `#model=induction-2l&run=3&head=L1H3`. Out: a Selection. Pure; the live store is in store.ts.
 */

export interface HeadId {
  readonly layer: number
  readonly head: number
}

export type BosMode = 'show' | 'hide' | 'renormalise'

export interface Selection {
  readonly model: string | null
  readonly run: number | null
  readonly tab: string
  readonly head: HeadId | null
  /** Locked query and key positions. */
  readonly query: number | null
  readonly key: number | null
  readonly score: string
  /** auto: patterns where tiles are large enough to see them. */
  readonly tiles: 'auto' | 'patterns' | 'scores'
  readonly filter: string
  readonly log: boolean
  readonly bos: BosMode
  /** The selected head's output is set to zero for the prediction in the inspector. */
  readonly ablate: boolean
  /** null: as remembered, else as the system says. */
  readonly theme: 'light' | 'dark' | null
}

export const EMPTY: Selection = {
  model: null,
  run: null,
  tab: 'heads',
  head: null,
  query: null,
  key: null,
  score: 'induction',
  tiles: 'auto',
  filter: '',
  log: false,
  bos: 'show',
  ablate: false,
  theme: null,
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

export function sameHead(a: HeadId | null, b: HeadId | null): boolean {
  return a === b || (a !== null && b !== null && a.layer === b.layer && a.head === b.head)
}

/** The head that an arrow key leads to; null when it is no arrow key. Up is a higher layer. */
export function walked(
  key: string,
  from: HeadId | null,
  spec: { n_layers: number; n_heads: number },
): HeadId | null {
  const step = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key]
  if (!step) return null
  if (!from) return { layer: 0, head: 0 }
  const keep = (x: number, count: number) => Math.min(count - 1, Math.max(0, x))
  return { layer: keep(from.layer + step[0]!, spec.n_layers), head: keep(from.head + step[1]!, spec.n_heads) }
}

/** The hash of a selection, without `#`. Only what differs from EMPTY is written. */
export function formatSelection(s: Selection): string {
  const out = new URLSearchParams()
  const put = (name: string, value: string | number | null, initial: string | number | null) => {
    if (value !== null && value !== initial) out.set(name, String(value))
  }
  put('model', s.model, null)
  put('run', s.run, null)
  put('tab', s.tab, EMPTY.tab)
  put('head', s.head && headName(s.head), null)
  put('query', s.query, null)
  put('key', s.key, null)
  put('score', s.score, EMPTY.score)
  put('tiles', s.tiles, EMPTY.tiles)
  put('filter', s.filter, EMPTY.filter)
  put('scale', s.log ? 'log' : 'linear', 'linear')
  put('bos', s.bos, EMPTY.bos)
  put('ablate', s.ablate ? 'zero' : null, null)
  put('theme', s.theme, null)
  return out.toString().replaceAll('%2F', '/')
}

/** The selection that a hash (with or without `#`) stands for. Unknown names and broken values are left out. */
export function parseSelection(hash: string): Selection {
  const given = new URLSearchParams(hash.replace(/^#/, ''))
  const whole = (name: string) => {
    const text = given.get(name)
    return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null
  }
  const oneOf = <T extends string>(name: string, values: readonly T[]) =>
    values.find((value) => value === given.get(name)) ?? null
  return {
    model: given.get('model') || null,
    run: whole('run'),
    tab: given.get('tab') || EMPTY.tab,
    head: parseHead(given.get('head') ?? ''),
    query: whole('query'),
    key: whole('key'),
    score: given.get('score') || EMPTY.score,
    tiles: oneOf('tiles', ['patterns', 'scores']) ?? EMPTY.tiles,
    filter: given.get('filter') ?? '',
    log: given.get('scale') === 'log',
    bos: oneOf('bos', ['show', 'hide', 'renormalise']) ?? 'show',
    ablate: given.get('ablate') === 'zero',
    theme: oneOf('theme', ['light', 'dark']),
  }
}
