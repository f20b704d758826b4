/**
 * A finished analysis as the store keeps it, and back. In: what a job gave. Out: one cell a head (of a series: a step),
 * so that SQL and CSV have rows, and the rest as the result. What is read back is what was given. Pure.
 */
import type { SpanItem } from '../analysis/spans.ts'
import type { CellInput } from '../store/experiments.ts'
import type { Analyses, AnalysisKind } from './contract-analyses.ts'

/** An analysis before it has its number. */
export type Given<K extends AnalysisKind> = Omit<Analyses[K]['reply'], 'experiment'>

export interface AnalysisRecord {
  readonly cells: readonly CellInput[]
  readonly result: Readonly<Record<string, unknown>>
}

export const ANALYSIS_KINDS: readonly AnalysisKind[] = ['spans', 'corpus', 'relation', 'compare', 'series']

/** What is written. */
export function recordOf<K extends AnalysisKind>(kind: K, reply: Given<K>): AnalysisRecord {
  if (kind === 'series') {
    const { steps, ...result } = reply as Given<'series'>
    return { cells: steps.map((step) => ({ key: step.at, value: step })), result }
  }
  const { heads, ...rest } = reply as unknown as { heads: readonly HeadRow[] }
  const cells = heads.map((head) => ({ key: `L${head.layer}H${head.head}`, value: head }))
  if (kind !== 'spans') return { cells, result: rest }
  const { items, ...result } = rest as unknown as Pick<Given<'spans'>, 'items'>
  return { cells, result: { ...result, items: packItems(items) } }
}

/** What was given, with its number. */
export function replyFrom<K extends AnalysisKind>(
  kind: K,
  experiment: number,
  { cells, result }: AnalysisRecord,
): Analyses[K]['reply'] {
  const rows = cells.map(({ value }) => value)
  const items = kind === 'spans' ? { items: unpackItems(result.items as PackedItems) } : {}
  const whole = { ...result, ...items, [kind === 'series' ? 'steps' : 'heads']: rows, experiment }
  return whole as unknown as Analyses[K]['reply']
}

/** What an analysis is about, for lists. */
export function titleOf<K extends AnalysisKind>(
  kind: K,
  request: Analyses[K]['request'],
  reply: Given<K>,
): string {
  const count = (n: number, one: string) => `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`
  switch (kind) {
    case 'spans':
      return `induction in ${count((request as Analyses['spans']['request']).prompts.length, 'text')}`
    case 'corpus':
      return `examples in ${count((request as Analyses['corpus']['request']).prompts.length, 'text')}`
    case 'relation': {
      const { template, triples } = request as Analyses['relation']['request']
      const name = triples ? 'relation' : (template?.name ?? 'green forest, blue creature')
      return `${name}: ${count((reply as Given<'relation'>).triples, 'triple')}`
    }
    case 'compare': {
      const { a, b } = reply as Given<'compare'>
      return `${short(a, b)} and ${short(b, a)}, ${count((request as Analyses['compare']['request']).prompts.length, 'text')}`
    }
    default:
      return `series of ${count((reply as Given<'series'>).steps.length, 'step')}`
  }
}

// --- Internal helpers ---

interface HeadRow {
  readonly layer: number
  readonly head: number
}

/** Every place has the same heads in the same order, so that a table of numbers says what each of them does there. */
interface PackedItems {
  readonly places: readonly Omit<SpanItem, 'heads'>[]
  readonly heads: readonly HeadRow[]
  readonly weights: string // base64 of float32 [place, head]
  readonly hits: string // base64 of bytes [place, head]
}

function packItems(items: readonly SpanItem[]): PackedItems {
  const heads = (items[0]?.heads ?? []).map(({ layer, head }) => ({ layer, head }))
  const weights = new Float32Array(items.length * heads.length) // they come from float32 patterns: nothing is lost
  const hits = new Uint8Array(weights.length)
  items.forEach((item, i) => {
    item.heads.forEach(({ weight, hit }, h) => {
      weights[i * heads.length + h] = weight
      hits[i * heads.length + h] = Number(hit)
    })
  })
  return {
    places: items.map(({ heads: _, ...place }) => place),
    heads,
    weights: Buffer.from(weights.buffer).toString('base64'),
    hits: Buffer.from(hits).toString('base64'),
  }
}

function unpackItems({ places, heads, weights, hits }: PackedItems): SpanItem[] {
  const bytes = new Uint8Array(Buffer.from(weights, 'base64'))
  const weight = new Float32Array(bytes.buffer, 0, bytes.length / 4)
  const hit = Buffer.from(hits, 'base64')
  return places.map((place, i) => ({
    ...place,
    heads: heads.map((head, h) => ({
      ...head,
      weight: weight[i * heads.length + h]!,
      hit: hit[i * heads.length + h] === 1,
    })),
  }))
}

/** The last part of a path, or two where the other one ends alike. */
function short(name: string, other: string): string {
  const last = (path: string, parts: number) => path.split('/').slice(-parts).join('/')
  return last(name, last(name, 1) === last(other, 1) ? 2 : 1)
}
