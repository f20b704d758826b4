/**
 * What the user is looking at, as one plain record, and its form in the address. In: a hash such as
 * `#model=induction-2l&run=3&head=L1H3`. Out: a Selection. Pure; the live store is in store.ts.
 */

import { type ActiveEdit, ablateHead, formatEdits, parseEdits } from './edits.ts'
import { type HeadId, headName, parseHead, sameHead } from './head-name.ts'

export { type HeadId, headName, parseHead, sameHead }

export type BosMode = 'show' | 'hide' | 'renormalise'
export type Compare = 'both' | 'before' | 'after' | 'difference'
/** How a pattern is drawn: rows and columns, arcs over the text, or the text itself. */
export type Form = 'matrix' | 'arcs' | 'text'

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
  readonly tiles: 'auto' | 'patterns' | 'scores' | 'scatter'
  readonly filter: string
  readonly log: boolean
  readonly bos: BosMode
  /** Interventions that act on the prediction, and on the pattern beside it. */
  readonly edits: readonly ActiveEdit[]
  /** What the pattern shows where there are two: without and with the edits, or the held head and this one. */
  readonly compare: Compare
  /** A head of a run that is kept to be seen beside the selected one. Without a head: the selected head of that run. */
  readonly held: { readonly run: number; readonly head: HeadId | null } | null
  readonly form: Form
  /** Further locked queries: the lists show their mean with the first. */
  readonly also: readonly number[]
  /** Settings of single tabs, by name. */
  readonly tool: Readonly<Record<string, string>>
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
  edits: [],
  compare: 'both',
  held: null,
  form: 'matrix',
  also: [],
  tool: {},
  theme: null,
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

/** The head that one more step of a walk leads to; null where the last step was none to a head beside, or it ends here. */
export function nextAlong(
  before: HeadId,
  now: HeadId,
  spec: { n_layers: number; n_heads: number },
): HeadId | null {
  const up = now.layer - before.layer
  const right = now.head - before.head
  const next = { layer: now.layer + up, head: now.head + right }
  const exists = next.layer >= 0 && next.layer < spec.n_layers && next.head >= 0 && next.head < spec.n_heads
  return exists && Math.abs(up) + Math.abs(right) === 1 ? next : null
}

/** What the names of tab settings begin with in the address. */
const TOOL = 't.'

/** How the address writes a held run that follows the selected head. */
const SAME_HEAD = 'same'

/** The head of the held run that is shown. */
export function heldHead({ held, head }: Pick<Selection, 'held' | 'head'>): HeadId | null {
  return held && (held.head ?? head)
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
  put('edits', formatEdits(s.edits), null)
  put('compare', s.compare, EMPTY.compare)
  put('held', s.held && `${s.held.run}.${s.held.head ? headName(s.held.head) : SAME_HEAD}`, null)
  put('form', s.form, EMPTY.form)
  put('also', s.also.join('.') || null, null)
  for (const [name, value] of Object.entries(s.tool)) if (value !== '') out.set(TOOL + name, value)
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
  const head = parseHead(given.get('head') ?? '')
  return {
    model: given.get('model') || null,
    run: whole('run'),
    tab: given.get('tab') || EMPTY.tab,
    head,
    query: whole('query'),
    key: whole('key'),
    score: given.get('score') || EMPTY.score,
    tiles: oneOf('tiles', ['patterns', 'scores', 'scatter']) ?? EMPTY.tiles,
    filter: given.get('filter') ?? '',
    log: given.get('scale') === 'log',
    bos: oneOf('bos', ['show', 'hide', 'renormalise']) ?? 'show',
    edits:
      given.get('ablate') === 'zero' && head
        ? [{ edit: ablateHead(head), on: true, name: null }]
        : parseEdits(given.get('edits')),
    compare: oneOf('compare', ['both', 'before', 'after', 'difference']) ?? EMPTY.compare,
    held: parseHeld(given.get('held')),
    form: oneOf('form', ['matrix', 'arcs', 'text']) ?? EMPTY.form,
    also: (given.get('also') ?? '')
      .split('.')
      .filter((part) => /^\d{1,9}$/.test(part))
      .map(Number),
    tool: Object.fromEntries(
      [...given]
        .filter(([name]) => name.startsWith(TOOL))
        .map(([name, value]) => [name.slice(TOOL.length), value]),
    ),
    theme: oneOf('theme', ['light', 'dark']),
  }
}

function parseHeld(text: string | null): Selection['held'] {
  const match = /^(\d{1,9})\.(.+)$/.exec(text ?? '')
  if (!match) return null
  const head = parseHead(match[2]!)
  return head || match[2] === SAME_HEAD ? { run: Number(match[1]), head } : null
}
