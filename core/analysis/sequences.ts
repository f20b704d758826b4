/**
 * The sequences that scores are measured on: repeated random tokens [BOS?, r_1 … r_L, r_1 … r_L] and their kin. Ids
 * only; never through text, so nothing is tokenised anew.
 */
import { HeadscopeError } from '../errors.ts'
import { createRandom } from '../random.ts'
import type { Model } from '../run/model.ts'

/** Where the two copies lie. Positions: offset … offset + length - 1, and length more. */
export interface RepeatLayout {
  /** 0 without BOS, 1 with. */
  readonly offset: number
  /** Tokens of one copy, L. */
  readonly length: number
  /** offset + 2 L. */
  readonly total: number
}

/**
 * `repeats`: the scan's own, two copies. `four_copies`: 25 tokens, 4 times. `two_contexts`: x A B … y A C … x A.
 * `text`: the prompts given to the scan, else its repeats.
 */
export type SequenceKind = 'repeats' | 'four_copies' | 'two_contexts' | 'text'

export interface ScoreSequence {
  readonly ids: readonly number[]
  /** 1 where the first id is BOS, else 0. */
  readonly offset: number
  /** Tokens of one copy, L; 0 where there are no copies. */
  readonly length: number
}

/** Rows `first` … `total` - 1, each with the keys that it reads. */
export function rowsOf(
  first: number,
  total: number,
  keys: (query: number) => readonly number[],
): { query: number; keys: readonly number[] }[] {
  return Array.from({ length: Math.max(0, total - first) }, (_, i) => ({
    query: first + i,
    keys: keys(first + i),
  }))
}

export interface RepeatSequences {
  readonly layout: RepeatLayout
  readonly ids: readonly (readonly number[])[]
}

/**
 * `batch` sequences of `length` ids drawn without replacement from the vocabulary without special and added ids, so
 * that matches are unambiguous. Throws `bad-request` when the vocabulary is too small or BOS does not exist.
 */
export function randomRepeats(
  model: Pick<Model, 'tokenizer' | 'spec'>,
  options: { readonly length: number; readonly batch: number; readonly seed: number; readonly bos: boolean },
): RepeatSequences {
  const { length, batch, seed, bos } = options
  const pool = ordinaryIds(model)
  if (pool.length < length)
    throw new HeadscopeError(
      'bad-request',
      `A sequence of ${length} different tokens needs as many in the vocabulary, which has ${pool.length}; choose a smaller length.`,
    )
  const start = bos ? [bosOf(model)] : []
  const random = createRandom(seed)
  const ids = Array.from({ length: batch }, () => {
    const copy = draw(pool, length, random.below)
    return [...start, ...copy, ...copy]
  })
  return { layout: { offset: start.length, length, total: start.length + 2 * length }, ids }
}

/**
 * Given sequences, checked: all of one length, even (no BOS) or odd (the first id is BOS), halves equal. Throws
 * `bad-request` naming the sequence and the rule.
 */
export function givenRepeats(ids: readonly (readonly number[])[]): RepeatSequences {
  const refuse = (rule: string): never => {
    throw new HeadscopeError('bad-request', `The sequences must each be [bos?, r…, r…]: ${rule}.`)
  }
  const total = ids[0]?.length ?? 0
  if (ids.length === 0 || total < 4) refuse('there must be at least one, of two ids or more per copy')
  const offset = total % 2
  const length = (total - offset) / 2
  ids.forEach((row, i) => {
    if (row.length !== total) refuse(`sequence ${i} has ${row.length} ids and sequence 0 has ${total}`)
    for (let k = 0; k < length; k++)
      if (row[offset + k] !== row[offset + length + k])
        refuse(`the two halves of sequence ${i} differ at place ${k}`)
  })
  return { layout: { offset, length, total }, ids }
}

/** Tokens of one copy and copies of a sequence for Olsson's prefix matching. */
const FOUR_COPIES = { length: 25, copies: 4 } as const
/** Tokens A with two contexts in a sequence, at most and at least. */
const CONTEXTS = { most: 8, least: 2 } as const

/**
 * Sequences of a kind that a scan draws for itself, or one sentence why it cannot. `bos` as in the scan; the seed is
 * the scan's, the draws are not those of its repeats.
 */
export function drawnSequences(
  model: Pick<Model, 'tokenizer' | 'spec'>,
  kind: 'four_copies' | 'two_contexts',
  options: { readonly batch: number; readonly seed: number; readonly bos: boolean },
): readonly ScoreSequence[] | string {
  const pool = ordinaryIds(model)
  const start = options.bos ? [bosOf(model)] : []
  const random = createRandom(options.seed + (kind === 'four_copies' ? 0x40000000 : 0x20000000))
  const many = (make: () => number[], length: number): ScoreSequence[] =>
    Array.from({ length: options.batch }, () => ({
      ids: [...start, ...make()],
      offset: start.length,
      length,
    }))
  const tooFew = (needs: number) =>
    `needs ${needs} different tokens; the vocabulary has ${pool.length} without special ones`
  if (kind === 'four_copies') {
    const { length, copies } = FOUR_COPIES
    if (pool.length < length) return tooFew(length)
    const longest = start.length + length * copies
    if (model.spec.positional === 'learned' && longest > model.spec.nCtx)
      return `needs ${longest} positions; this model has ${model.spec.nCtx}`
    return many(() => {
      const copy = draw(pool, length, random.below)
      return Array.from({ length: copies }, () => copy).flat()
    }, length)
  }
  const table =
    model.spec.positional === 'learned' ? model.spec.nCtx - start.length : Number.POSITIVE_INFINITY
  const count = Math.min(CONTEXTS.most, Math.floor(pool.length / 5), Math.floor(table / 9))
  if (pool.length < 5 * CONTEXTS.least) return tooFew(5 * CONTEXTS.least)
  if (count < CONTEXTS.least)
    return `needs ${9 * CONTEXTS.least + start.length} positions; this model has ${model.spec.nCtx}`
  return many(() => twoContexts(draw(pool, 5 * count, random.below), random.below), 0)
}

/** Tokens of one copy where none are asked for. */
const COPY = 48

/**
 * How long one copy is where no length is asked for: 48 tokens, or as many as there are different tokens to draw
 * (`different`) and learned positions for two copies, in every one of the models. `note`: a sentence that says so where
 * it is fewer, else null. Throws `bad-request` where not even two tokens fit.
 */
export function fittingLength(
  models: readonly Pick<Model, 'spec'>[],
  different: number,
  bos: boolean,
): { readonly length: number; readonly note: string | null } {
  const positions = Math.min(
    ...models.map(({ spec }) => (spec.positional === 'learned' ? spec.nCtx : Number.POSITIVE_INFINITY)),
  )
  const length = Math.min(COPY, different, Math.floor((positions - Number(bos)) / 2))
  const why = length === different ? `${different} ordinary tokens to draw from` : `${positions} positions`
  if (length < 2)
    throw new HeadscopeError(
      'bad-request',
      `There are only ${why}: too few for two copies of two random tokens.`,
    )
  return {
    length,
    note:
      length === COPY
        ? null
        : `One copy of the random sequences has ${length} tokens instead of ${COPY}: there are only ${why}.`,
  }
}

/** Ids of the vocabulary without special and added ones. */
export function ordinaryIds(model: Pick<Model, 'tokenizer' | 'spec'>): number[] {
  const special = model.tokenizer?.specialIds ?? new Set<number>()
  const known = Math.min(model.spec.dVocab, model.tokenizer?.vocabSize ?? model.spec.dVocab)
  return Array.from({ length: known }, (_, id) => id).filter((id) => !special.has(id))
}

// --- Internal helpers ---

/** Each A once after x (then B) and once after y (then C), shuffled; then each A again after one of x and y. */
function twoContexts(ids: readonly number[], below: (n: number) => number): number[] {
  const groups = Array.from({ length: ids.length / 5 }, (_, i) => ids.slice(5 * i, 5 * i + 5)) as [
    number,
    number,
    number,
    number,
    number,
  ][]
  const triples = groups.flatMap(([a, x, b, y, c]) => [
    [x, a, b],
    [y, a, c],
  ])
  const again = groups.map(([a, x, b, y, c]) => (below(2) === 0 ? [x, a, b] : [y, a, c]))
  return [...draw(triples, triples.length, below), ...draw(again, again.length, below)].flat()
}

function bosOf(model: Pick<Model, 'tokenizer'>): number {
  const id = model.tokenizer?.bosId ?? null
  if (id !== null) return id
  throw new HeadscopeError(
    'bad-request',
    'This checkpoint names no beginning-of-text token; scan it without --bos.',
  )
}

/** Fisher and Yates, the first `count` places only. */
function draw<T>(pool: readonly T[], count: number, below: (n: number) => number): T[] {
  const deck = [...pool]
  for (let i = 0; i < count; i++) {
    const j = i + below(deck.length - i)
    ;[deck[i], deck[j]] = [deck[j]!, deck[i]!]
  }
  return deck.slice(0, count)
}
