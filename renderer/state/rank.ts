/** Ranking and filtering of heads by their scores. In: scored heads and what was typed. Out: an order, a predicate. Pure. */
import type { HeadScores, Score } from '../../core/analysis/types.ts'
import { headName, parseHead } from './selection.ts'

/** Heads by falling value of a score; heads without a value come last; ties in layer and head order. */
export function rankHeads(heads: readonly HeadScores[], score: string): HeadScores[] {
  const value = (h: HeadScores) => h.scores[score]?.value ?? Number.NEGATIVE_INFINITY
  return [...heads].sort((a, b) => value(b) - value(a) || a.layer - b.layer || a.head - b.head || 0)
}

/** `induction` of `previous_token`: names as people read them. */
export function scoreLabel(name: string): string {
  return name.replaceAll('_', ' ').replace(/^(first) (token) (sink)$/, 'first-token sink')
}

/** Two decimals without the leading zero's noise; null has no text of its own. */
export function formatScore(score: Score | undefined): string {
  return score?.value == null ? '' : formatWeight(score.value)
}

/** 0.42; tiny but not zero is “<0.01”. */
export function formatWeight(value: number): string {
  if (value > 0 && value < 0.005) return '<0.01'
  if (Math.abs(value) < 0.005) return '0.00'
  return value.toFixed(2).replace('-', '−')
}

/** A head is of the class of its largest score, where that is at least this. */
export const CLASS_FROM = 0.4

/** The score whose class a head is of; null: of none. */
export function classOf({ scores }: HeadScores): string | null {
  let best: string | null = null
  for (const [name, { value }] of Object.entries(scores))
    if (value !== null && value >= CLASS_FROM && value > (best ? scores[best]!.value! : 0)) best = name
  return best
}

export interface Filter {
  readonly matches: (head: HeadScores) => boolean
  /** Set when the text names exactly one head. */
  readonly head: { layer: number; head: number } | null
  /** What could not be read, as a sentence; null when all is well. */
  readonly problem: string | null
}

/**
 * Reads `L5H1`, `5.1`, `L5`, `layer 5`, `induction > .5`, `class induction`, `class none`, `pinned`, `noted`, and several of them joined by spaces, commas or `and`.
 * Score names may be shortened to any unambiguous beginning.
 */
export function parseFilter(
  text: string,
  scores: readonly string[],
  pinned: readonly string[] = [],
  noted: ReadonlySet<string> = new Set(),
): Filter {
  const tests: ((head: HeadScores) => boolean)[] = []
  let rest = text.trim()
  let only: Filter['head'] = null
  while (rest !== '') {
    const glue = /^(?:,|and\b|&+)\s*/i.exec(rest)
    if (glue) {
      rest = rest.slice(glue[0].length)
      continue
    }
    const name = /^(?:l\d+\s*h\d+|\d+\.\d+)(?=$|[\s,])/i.exec(rest)
    if (/^pinned(?=$|[\s,])/i.test(rest)) {
      tests.push((h) => pinned.includes(headName(h)))
      rest = rest.slice(6).trim()
      continue
    }
    const note = /^(?:noted|has (?:a )?note)(?=$|[\s,])/i.exec(rest)
    if (note) {
      tests.push((h) => noted.has(headName(h)))
      rest = rest.slice(note[0].length).trim()
      continue
    }
    const kind =
      /^class\s*[:=]?\s*([a-z_-]+(?: [a-z_-]+)*?)(?=$|,|\s+and\b|\s+[a-z_ ]*[<>≥≤]|\s+pinned|\s+noted|\s+has\b|\s+l(?:ayer)?\s*\d)/i.exec(
        rest,
      )
    const layer = /^(?:l|layer\s*=?\s*)(\d+)(?=$|[\s,])/i.exec(rest)
    const bound = /^([a-z_][a-z_ -]*?)\s*(>=|<=|>|<|≥|≤)\s*(\d*\.?\d+)/i.exec(rest)
    if (name) {
      const id = parseHead(name[0])!
      only = id
      tests.push((h) => headName(h) === headName(id))
      rest = rest.slice(name[0].length).trim()
    } else if (kind) {
      const key = kind[1]!.toLowerCase().replaceAll(/[ -]/g, '_')
      const found = [...scores, 'none'].filter((name) => name.startsWith(key))
      if (found.length !== 1)
        return unread(`No class is called “${kind[1]}”: ${scores.map(scoreLabel).join(', ')}, none.`)
      const wanted = found[0] === 'none' ? null : found[0]!
      tests.push((h) => classOf(h) === wanted)
      rest = rest.slice(kind[0].length).trim()
    } else if (layer) {
      const wanted = Number(layer[1])
      tests.push((h) => h.layer === wanted)
      rest = rest.slice(layer[0].length).trim()
    } else if (bound) {
      const key = bound[1]!.trim().toLowerCase().replaceAll(/[ -]/g, '_')
      const found = scores.filter((s) => s.startsWith(key))
      if (found.length !== 1) {
        return unread(`No score is called “${bound[1]!.trim()}”: ${scores.map(scoreLabel).join(', ')}.`)
      }
      tests.push(comparison(found[0]!, bound[2]!, Number(bound[3])))
      rest = rest.slice(bound[0].length).trim()
    } else {
      return unread(
        'Type a head (L1H3 or 1.3), a layer (L1), pinned, noted, class induction, or a bound (induction > .5).',
      )
    }
  }
  return { matches: (h) => tests.every((t) => t(h)), head: tests.length === 1 ? only : null, problem: null }
}

function unread(problem: string): Filter {
  return { matches: () => true, head: null, problem }
}

function comparison(score: string, sign: string, bound: number): (head: HeadScores) => boolean {
  return (h) => {
    const value = h.scores[score]?.value
    if (value == null) return false
    if (sign === '>') return value > bound
    if (sign === '<') return value < bound
    return sign === '>=' || sign === '≥' ? value >= bound : value <= bound
  }
}
