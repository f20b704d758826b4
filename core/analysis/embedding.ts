/**
 * Directions in the embedding: `king - man + woman`, and the tokens nearest to it. In: an expression of single tokens.
 * Out: the tokens that it names, and neighbours by cosine. Cost: one walk over the embedding, no forward.
 */
import { HeadscopeError } from '../errors.ts'
import type { Model } from '../run/model.ts'
import { embeddings, overVocabulary } from './vocabulary.ts'

export interface Term {
  readonly sign: 1 | -1
  readonly text: string
  readonly id: number
}

export interface Neighbour {
  readonly id: number
  readonly cosine: number
  /** The expression names this token. */
  readonly named: boolean
}

export interface Neighbours {
  readonly terms: readonly Term[]
  /** Length of the combined direction. */
  readonly norm: number
  readonly neighbours: readonly Neighbour[]
}

/**
 * Terms of an expression: words, quoted texts (`" king"`) or ids (`#42`), joined by spaced `+` and `-`. A bare word is
 * the token with a space in front where that is one token, else the word itself. Throws `bad-request` naming the term.
 */
export function parseTerms(
  model: Pick<Model, 'tokenizer' | 'spec' | 'checkpoint'>,
  expression: string,
): Term[] {
  const parts = [...expression.matchAll(/\s*([+-](?=\s)|)\s*("(?:[^"\\]|\\.)*"|#\d+|[^\s"]+)/g)]
  const read = parts.map((match) => match[0]).join('')
  if (parts.length === 0 || read.trim().length !== expression.trim().length)
    throw new HeadscopeError(
      'bad-request',
      `${JSON.stringify(expression)} is not a sum of tokens; write for instance: king - man + woman.`,
    )
  return parts.map((match, i) => {
    const [, sign, text] = match as unknown as [string, string, string]
    if (i > 0 && sign === '')
      throw new HeadscopeError(
        'bad-request',
        `Before ${text} there is neither + nor -; write for instance: king - man + woman (and quote texts with spaces).`,
      )
    return { sign: sign === '-' ? -1 : 1, ...tokenOf(model, text) }
  })
}

/** The `count` tokens nearest to a combination, the named ones included and marked. */
export async function nearestTokens(
  model: Model,
  expression: string,
  options: { count?: number; signal?: AbortSignal } = {},
): Promise<Neighbours> {
  const { count = 10 } = options
  const terms = parseTerms(model, expression)
  const engine = model.engine()
  const { dModel } = model.spec
  const rows = await embeddings(
    engine,
    terms.map(({ id }) => id),
  )
  const direction = new Float64Array(dModel)
  terms.forEach(({ sign }, n) => {
    for (let d = 0; d < dModel; d++) direction[d]! += sign * rows[n * dModel + d]!
  })
  const norm = Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0))
  if (norm === 0)
    throw new HeadscopeError('bad-request', `${expression} is the zero vector, which points nowhere.`)
  const named = new Set(terms.map(({ id }) => id))
  let best: Neighbour[] = []
  await overVocabulary(engine, async (ids) => {
    if (options.signal?.aborted) throw new HeadscopeError('cancelled', 'The search was cancelled.')
    const table = await embeddings(engine, ids)
    const found = ids.map((id, n) => {
      let along = 0
      let own = 0
      for (let d = 0; d < dModel; d++) {
        const value = table[n * dModel + d]!
        along += value * direction[d]!
        own += value * value
      }
      return { id, cosine: own > 0 ? along / (Math.sqrt(own) * norm) : Number.NaN, named: named.has(id) }
    })
    best = [...best, ...found.filter(({ cosine }) => Number.isFinite(cosine))]
      .sort((a, b) => b.cosine - a.cosine || a.id - b.id)
      .slice(0, count)
  })
  return { terms, norm, neighbours: best }
}

// --- Internal helpers ---

function tokenOf(
  { tokenizer, spec, checkpoint }: Pick<Model, 'tokenizer' | 'spec' | 'checkpoint'>,
  text: string,
): { text: string; id: number } {
  if (text.startsWith('#')) {
    const id = Number(text.slice(1))
    if (id < spec.dVocab) return { text, id }
    throw new HeadscopeError(
      'bad-request',
      `${text} is not a token id of this model (0 to ${spec.dVocab - 1}).`,
    )
  }
  if (!tokenizer)
    throw new HeadscopeError(
      'bad-request',
      `${checkpoint.tokenizerProblem ?? 'This checkpoint has no tokenizer.'} Write tokens as ids: #42.`,
    )
  const quoted = text.startsWith('"')
  const word = quoted ? (JSON.parse(text) as string) : text
  const tries = quoted ? [word] : [` ${word}`, word]
  for (const one of tries) {
    const ids = tokenizer.encode(one, { bos: 'no' })
    if (ids.length === 1) return { text: one, id: ids[0]! }
  }
  const views = tokenizer.view(tokenizer.encode(word, { bos: 'no' })).map((view) => view.text)
  throw new HeadscopeError(
    'bad-request',
    `${JSON.stringify(word)} is ${views.length} tokens (${views.join(' | ')}), and a direction needs one; choose a word that is one token, or one of its pieces in quotes.`,
  )
}
