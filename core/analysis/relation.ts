/**
 * Relation probe: does a head's query favour the target over the distractor? In: triples of places in prompts, from a
 * template or a file. Out: per head the mean difference of weight, the share of triples won and a sign test corrected
 * for the number of heads. Cost: one forward per prompt.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { requireOneText } from '../run/one-text.ts'
import { batchesOf } from './batches.ts'
import { meanScore } from './bootstrap.ts'
import type { Score } from './types.ts'

/** Positions in one prompt. */
export interface RelationTriple {
  readonly ids: readonly number[]
  readonly query: number
  readonly target: number
  readonly distractor: number
}

/** Words into a sentence: every combination of the slots' words gives a triple. */
export interface RelationTemplate {
  readonly name: string
  readonly note?: string
  /** Texts with {query}, {target}, {distractor} and any other slots; of a slot that stands twice the last counts. */
  readonly template: string | readonly string[]
  readonly slots: Readonly<Record<string, readonly string[]>>
}

export interface RelationOptions {
  readonly seed?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export interface RelationHead {
  readonly layer: number
  readonly head: number
  /** Mean of A[query, target] − A[query, distractor]. */
  readonly difference: Score
  /** Share of triples won; ties count for neither side. */
  readonly won: number | null
  readonly wins: number
  readonly losses: number
  /** Two-sided sign test, and the same after Holm's correction for the number of heads; null without a decided triple. */
  readonly p: number | null
  readonly p_holm: number | null
  readonly why?: string
}

export interface RelationReport {
  readonly definition: string
  readonly triples: number
  readonly heads: readonly RelationHead[]
  readonly warnings: readonly string[]
}

export const RELATION =
  'Per triple A[query, target] − A[query, distractor]; `difference` is its mean with a bootstrap interval over triples, `won` the share of the decided triples in which it is positive, `p` a two-sided sign test over them, `p_holm` the same corrected for the number of heads (Holm 1979). Triples that share words are not independent, so p is a guide. Recognising the kind of word alone gives a difference of 0.'

/** Scores every head. Throws `bad-request` for a place outside its prompt. */
export async function relationProbe(
  model: Model,
  triples: readonly RelationTriple[],
  options: RelationOptions = {},
): Promise<RelationReport> {
  requireOneText(model, 'Triples')
  if (triples.length === 0)
    throw new HeadscopeError(
      'bad-request',
      'There is no triple; give at least one query, target and distractor.',
    )
  triples.forEach((triple, i) => {
    checkTriple(triple, i, decoderOf(model.spec).causal)
  })
  const layers = decoderOf(model.spec).layers
  const values = layers.map(({ nHeads }) =>
    Array.from({ length: nHeads }, () => new Array<number>(triples.length).fill(0)),
  )
  const warnings = new Set<string>()
  const started = performance.now()
  let done = 0
  for (const batch of batchesOf(
    model.spec,
    triples.map(({ ids }) => ids),
  )) {
    const run = await model.run(
      batch.map((t) => triples[t]!.ids),
      {
        capture: ['blocks.*.attn.hook_pattern'],
        top: 0,
        ...(options.signal ? { signal: options.signal } : {}),
        onCapture: (hook, { data, shape }) => {
          const layer = parseHook(hook).layer!
          const [, heads, queries, keys] = shape as [number, number, number, number]
          batch.forEach((t, item) => {
            const { query, target, distractor } = triples[t]!
            for (let head = 0; head < heads; head++) {
              const row = ((item * heads + head) * queries + query) * keys
              values[layer]![head]![t] = data[row + target]! - data[row + distractor]!
            }
          })
        },
      },
    )
    for (const warning of run.warnings) warnings.add(warning)
    done += batch.length
    const each = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total: triples.length, secondsLeft: each * (triples.length - done) })
  }
  const rows = values.flatMap((heads, layer) =>
    heads.map((list, head) => {
      const wins = list.filter((value) => value > 0).length
      const losses = list.filter((value) => value < 0).length
      const difference = meanScore(list, list.length, options.seed ?? 1)
      const decided = wins + losses
      return {
        layer,
        head,
        difference,
        wins,
        losses,
        won: decided > 0 ? wins / decided : null,
        p: decided > 0 ? signTest(wins, losses) : null,
        ...(decided > 0
          ? {}
          : { why: 'every triple is a tie: the head tells target and distractor never apart' }),
      }
    }),
  )
  const corrected = holm(rows.map(({ p }) => p))
  return {
    definition: RELATION,
    triples: triples.length,
    heads: rows.map((row, i) => ({ ...row, p_holm: corrected[i]! })),
    warnings: [...warnings],
  }
}

/**
 * The triples of a template. A slot's word may be several tokens: its last one stands for it. Throws `bad-request` for
 * a template without its three slots, or a word that is found in no or two places.
 */
export function relationTriples(
  model: Pick<Model, 'encode' | 'tokenizer'>,
  template: RelationTemplate,
): RelationTriple[] {
  const texts = typeof template.template === 'string' ? [template.template] : template.template
  return texts.flatMap((text) => triplesOf(model, text, template.slots))
}

/** Two-sided sign test: the chance of a split at least as uneven when each side is equally likely. */
export function signTest(wins: number, losses: number): number {
  const n = wins + losses
  const few = Math.min(wins, losses)
  let term = -n * Math.LN2 // ln of C(n, k) / 2^n, from k = 0 on
  let sum = Math.exp(term)
  for (let k = 1; k <= few; k++) {
    term += Math.log((n - k + 1) / k)
    sum += Math.exp(term)
  }
  return Math.min(1, 2 * sum)
}

/** Holm's step-down correction (1979); null stays null and does not count. */
export function holm(values: readonly (number | null)[]): (number | null)[] {
  const order = values
    .flatMap((value, i) => (value === null ? [] : [{ value, i }]))
    .sort((a, b) => a.value - b.value)
  const corrected: (number | null)[] = values.map(() => null)
  let largest = 0
  order.forEach(({ value, i }, rank) => {
    largest = Math.max(largest, Math.min(1, value * (order.length - rank)))
    corrected[i] = largest
  })
  return corrected
}

// --- Internal helpers ---

/** One text with every combination of its slots' words. */
function triplesOf(
  model: Pick<Model, 'encode' | 'tokenizer'>,
  template: string,
  words: RelationTemplate['slots'],
): RelationTriple[] {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  for (const needed of ['query', 'target', 'distractor'])
    if (!names.includes(needed))
      throw new HeadscopeError(
        'bad-request',
        `The template ${JSON.stringify(template)} lacks {${needed}}; it needs {query}, {target} and {distractor}.`,
      )
  const unfilled = names.find((name) => !words[name] || words[name].length === 0)
  if (unfilled)
    throw new HeadscopeError('bad-request', `The template has a slot {${unfilled}} without words.`)
  const slots = [...new Set(names)]
  let fillings: Record<string, string>[] = [{}]
  for (const name of slots)
    fillings = fillings.flatMap((filling) => words[name]!.map((word) => ({ ...filling, [name]: word })))
  return fillings.map((filling) => tripleOf(model, template, filling))
}

function checkTriple({ ids, query, target, distractor }: RelationTriple, i: number, causal: boolean): void {
  for (const [name, place] of Object.entries({ query, target, distractor }))
    if (!Number.isInteger(place) || place < 0 || place >= ids.length)
      throw new HeadscopeError(
        'bad-request',
        `The ${name} of triple ${i} is position ${place}, but its prompt has ${ids.length} tokens, numbered from 0.`,
      )
  const late = Math.max(target, distractor)
  if (causal && late > query)
    throw new HeadscopeError(
      'bad-request',
      `Triple ${i} looks from position ${query} to ${late}, which the model cannot see yet; the query must come last.`,
    )
}

/** Finds each slot's last token: the tokens up to the end of the word, counted on the text's beginning. */
function tripleOf(
  model: Pick<Model, 'encode' | 'tokenizer'>,
  template: string,
  filling: Readonly<Record<string, string>>,
): RelationTriple {
  const ends = new Map<string, number>() // end of each slot in the text
  let text = ''
  for (const part of template.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    text += name ? filling[name]! : part
    if (name) ends.set(name, text.length)
  }
  const ids = model.encode(text)
  const closing = closingTokens(model.encode(''), ids)
  const at = (name: string) => {
    const end = ends.get(name)!
    const whole = model.encode(text.slice(0, end))
    const upTo = whole.slice(0, whole.length - closing)
    const place = upTo.length - 1
    if (upTo.every((id, i) => ids[i] === id)) return place
    throw new HeadscopeError(
      'bad-request',
      `The word ${JSON.stringify(filling[name])} of ${JSON.stringify(text)} is joined with what follows it into one token; choose another word.`,
    )
  }
  return { ids, query: at('query'), target: at('target'), distractor: at('distractor') }
}

/** How many tokens the tokenizer puts behind a text (BERT's [SEP], T5's end), from what it makes of no text. */
function closingTokens(around: readonly number[], ids: readonly number[]): number {
  const before = around.findIndex((id, i) => ids[i] !== id)
  const most = before < 0 ? 0 : around.length - before
  let closing = 0
  while (closing < most && ids.at(-1 - closing) === around.at(-1 - closing)) closing++
  return closing
}
