/** Repeated random tokens: [BOS?, r_1 … r_L, r_1 … r_L]. Ids only; never through text, so nothing is tokenised anew. */
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
  const special = model.tokenizer?.specialIds ?? new Set<number>()
  const known = Math.min(model.spec.dVocab, model.tokenizer?.vocabSize ?? model.spec.dVocab)
  const pool = Array.from({ length: known }, (_, id) => id).filter((id) => !special.has(id))
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

// --- Internal helpers ---

function bosOf(model: Pick<Model, 'tokenizer'>): number {
  const id = model.tokenizer?.bosId ?? null
  if (id !== null) return id
  throw new HeadscopeError(
    'bad-request',
    'This checkpoint names no beginning-of-text token; scan it without --bos.',
  )
}

/** Fisher and Yates, the first `count` places only. */
function draw(pool: readonly number[], count: number, below: (n: number) => number): number[] {
  const deck = [...pool]
  for (let i = 0; i < count; i++) {
    const j = i + below(deck.length - i)
    ;[deck[i], deck[j]] = [deck[j]!, deck[i]!]
  }
  return deck.slice(0, count)
}
