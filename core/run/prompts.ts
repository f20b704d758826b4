/** Checks of token ids before a run, and right-padding. */
import { HeadscopeError } from '../errors.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import type { Source } from './pass.ts'

/**
 * One or more prompts, each a non-empty list of ids of this vocabulary. Throws `bad-prompt` naming the prompt and the
 * rule; returns warnings for prompts longer than the model was made for.
 */
export function checkPrompts(
  prompts: readonly (readonly number[])[],
  spec: ModelSpec,
  side: 'main' | 'source' = 'main',
): string[] {
  if (prompts.length === 0)
    throw new HeadscopeError('bad-prompt', 'There is no prompt; give at least one token.')
  const long: { which: string; tokens: number }[] = []
  const vocab = side === 'source' ? spec.encoderDecoder!.sourceVocab : spec.dVocab
  const whose = spec.encoderDecoder ? (side === 'source' ? "'s encoder text" : "'s decoder text") : ''
  prompts.forEach((ids, item) => {
    const which = `${prompts.length > 1 ? `Prompt ${item}` : 'The prompt'}${whose}`
    requireList(which, ids)
    if (ids.length === 0)
      throw new HeadscopeError('bad-prompt', `${which} is empty; give at least one token.`)
    const bad = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocab)
    if (bad !== undefined)
      throw new HeadscopeError(
        'bad-prompt',
        `${which} holds the id ${typeof bad === 'number' ? bad : JSON.stringify(bad)?.slice(0, 20)}, but ids of this model are whole numbers from 0 to ${vocab - 1}.`,
      )
    if (ids.length > spec.nCtx) {
      if (spec.positional === 'learned')
        throw new HeadscopeError(
          'bad-prompt',
          `${which} has ${ids.length} tokens, but the position table of this model has ${spec.nCtx} rows; shorten it to ${spec.nCtx} tokens.`,
        )
      long.push({ which, tokens: ids.length })
    }
  })
  if (long.length < 2) return long.map(({ which, tokens }) => tooLong(which, tokens, spec))
  const most = Math.max(...long.map(({ tokens }) => tokens))
  const rule = `tokens${whose && ` of the ${side === 'source' ? 'encoder' : 'decoder'}`}`
  return [
    `${long.length} of ${prompts.length} prompts have more ${rule} than the ${trainedFor(spec)}; the longest has ${most}.`,
  ]
}

/** The warning for a text that is longer than the model was made for. */
export function tooLong(which: string, tokens: number, spec: ModelSpec): string {
  return `${which} has ${tokens} tokens, more than the ${trainedFor(spec)}.`
}

/** Prompts of one batch: what the last stack reads, and what an encoder before it reads. */
export interface Batch {
  readonly main: readonly (readonly number[])[]
  readonly source: readonly (readonly number[])[] | null
}

/**
 * The prompts of a batch. Where a decoder reads an encoder, a prompt is the encoder's text, and `decoderIds` hold the
 * decoder's own (its start token alone when absent). Throws `bad-prompt`.
 */
export function batchOf(
  spec: ModelSpec,
  prompts: readonly (readonly number[])[],
  decoderIds: readonly (readonly number[])[] | undefined,
): Batch {
  if (!spec.encoderDecoder) {
    if (decoderIds)
      throw new HeadscopeError(
        'bad-prompt',
        `Models of the family ${spec.family} have one text, so there are no decoder ids; leave them out.`,
      )
    return { main: prompts, source: null }
  }
  const { start } = spec.encoderDecoder
  if (decoderIds && decoderIds.length !== prompts.length)
    throw new HeadscopeError(
      'bad-prompt',
      `There are ${prompts.length} texts for the encoder, but ${decoderIds.length} for the decoder; give one decoder text for each.`,
    )
  return { main: decoderIds ?? prompts.map(() => [start]), source: prompts }
}

/** Checks both sides. Throws `bad-prompt`; returns warnings. */
export function checkBatch({ main, source }: Batch, spec: ModelSpec): string[] {
  return [...(source ? checkPrompts(source, spec, 'source') : []), ...checkPrompts(main, spec)]
}

/** Own lengths of what the encoder reads, item by item; undefined where there is no encoder. */
export function sourceLengthsOf(
  engine: { readonly reads?: Source },
  { main, source }: Batch,
): readonly number[] | undefined {
  if (engine.reads) return main.map(() => engine.reads!.lengths[0]!)
  return source?.map((ids) => ids.length)
}

/** The source of a pass over a batch, or nothing. */
export function sourceOf({ source }: Batch): { source?: Source } {
  return source ? { source: { ids: rightPad(source), lengths: source.map((ids) => ids.length) } } : {}
}

/** One prompt as a batch of one; a batch as it is. Throws `bad-prompt` for what is no list. */
export function batchedIds(
  ids: readonly number[] | readonly (readonly number[])[],
): readonly (readonly number[])[] {
  requireList('The prompt', ids)
  const single = typeof ids[0] === 'number' || ids.length === 0
  return single ? [ids as readonly number[]] : (ids as readonly (readonly number[])[])
}

/**
 * Token types, one list a prompt. Throws `bad-prompt` where the model knows none, or a list does not fit its prompt.
 */
export function checkTokenTypes(
  types: readonly (readonly number[])[] | undefined,
  prompts: readonly (readonly number[])[],
  spec: ModelSpec,
): void {
  if (!types) return
  const { tokenTypes } = spec
  if (tokenTypes === null)
    throw new HeadscopeError(
      'bad-prompt',
      `Models of the family ${spec.family} know no token types; leave them out.`,
    )
  if (types.length !== prompts.length)
    throw new HeadscopeError(
      'bad-prompt',
      `There are ${prompts.length} prompts, but token types for ${types.length}; give one list for each prompt.`,
    )
  types.forEach((list, item) => {
    const length = prompts[item]!.length
    if (list.length !== length)
      throw new HeadscopeError(
        'bad-prompt',
        `Prompt ${item} has ${length} tokens, but ${list.length} token types; give one for each token.`,
      )
    const bad = list.find((type) => !Number.isInteger(type) || type < 0 || type >= tokenTypes)
    if (bad !== undefined)
      throw new HeadscopeError(
        'bad-prompt',
        `The token type ${bad} of prompt ${item} is not a whole number from 0 to ${tokenTypes - 1}.`,
      )
  })
}

/** [batch][longest], each filled up with 0 at its end. */
export function rightPad(prompts: readonly (readonly number[])[]): number[][] {
  const longest = Math.max(...prompts.map((ids) => ids.length))
  return prompts.map((ids) => [...ids, ...new Array<number>(longest - ids.length).fill(0)])
}

// --- Internal helpers ---

function requireList(which: string, ids: unknown): void {
  if (Array.isArray(ids) || ArrayBuffer.isView(ids)) return
  const given = typeof ids === 'string' ? `the text ${JSON.stringify(ids.slice(0, 20))}` : String(ids)
  throw new HeadscopeError(
    'bad-prompt',
    `${which} is ${given}, but must be a list of token ids, such as model.encode(text) gives.`,
  )
}

function trainedFor({ nCtx, positional }: ModelSpec): string {
  return `${nCtx} (${positional === 'relative' ? 'n_positions' : 'max_position_embeddings'}) that the model was trained for`
}
