/**
 * The tokenizer library, set right where it differs from the Rust reference.
 * In: a checked tokenizer.json. Out: a function from text to ids, without any token put around the text.
 * Set right here: added tokens (spaces around them, whole words, lower case). The parts are in library-repairs.ts.
 */
import { Tokenizer as Library } from '@huggingface/tokenizers'
import { HeadscopeError } from '../errors.ts'
import { type AddedForm, createSections } from './added-tokens.ts'
import { isObject, type JsonObject } from './json.ts'
import { repairNormalizer, repairPreTokenizer } from './library-repairs.ts'
import type { TokenizerFile } from './tokenizer-file.ts'

/** The parts of the library that run on one stretch of text. */
interface Parts {
  readonly normalizer: ((text: string) => string) | null
  readonly pre_tokenizer: ((text: string, options: { section_index: number }) => string[]) | null
  readonly model: ((words: readonly string[]) => string[]) & {
    readonly tokens_to_ids: ReadonlyMap<string, number>
    readonly unk_token_id?: number
  }
}

/**
 * Builds the encoder.
 * @param specials false: special tokens in a text are plain characters
 * @throws HeadscopeError when a pattern in the file cannot be read
 */
export function buildEncoder(file: TokenizerFile, specials = true): (text: string) => number[] {
  const { json, model, added } = file
  const unk = file.unkId === null ? null : model.unk_token
  const tokens = ((json.added_tokens ?? []) as JsonObject[]).filter((_, i) => specials || !added[i]!.special)
  const parts = Object.assign(Object.create(null), {
    normalizer: json.normalizer ?? null,
    pre_tokenizer: withSchemes(json.pre_tokenizer ?? null),
    post_processor: null,
    decoder: null,
    model: Object.assign(Object.create(null), model, model.type === 'Unigram' ? {} : { unk_token: unk }),
    added_tokens: [], // found before the model runs; in its vocabulary they would turn up inside words
  })
  let library: Parts
  try {
    const built = new Library(parts, { unk_token: unk })
    repairNormalizer(built.normalizer, parts.normalizer)
    repairPreTokenizer(built.pre_tokenizer, parts.pre_tokenizer)
    library = built as unknown as Parts
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HeadscopeError('unsupported', `tokenizer.json cannot be used (${why}); give prompts as ids.`, {
      cause: error,
    })
  }
  const normalize = (text: string) => library.normalizer?.(text) ?? text
  const sections = createSections(tokens.map(formOf), normalize)
  return (text) => {
    const ids = sections(text).flatMap((section) => {
      if (typeof section === 'number') return section
      const { normalizer: _, pre_tokenizer: cut, model: run } = library
      const words = cut ? cut(section.text, { section_index: section.index }) : [section.text]
      return run(words).map((token) => run.tokens_to_ids.get(token) ?? run.unk_token_id)
    })
    if (ids.some((id) => id === undefined)) {
      throw new HeadscopeError(
        'bad-prompt',
        'A part of the text is not in the vocabulary, and the tokenizer has no unknown token; change the text or give ids.',
      )
    }
    return ids as number[]
  }
}

function formOf(token: JsonObject): AddedForm {
  return {
    id: token.id as number,
    content: token.content as string,
    normalized: typeof token.normalized === 'boolean' ? token.normalized : token.special !== true,
    lstrip: token.lstrip === true,
    rstrip: token.rstrip === true,
    singleWord: token.single_word === true,
  }
}

/** Old files say add_prefix_space where new ones say prepend_scheme. */
function withSchemes(component: unknown): unknown {
  if (!isObject(component)) return component
  if (component.type === 'Sequence') {
    return { ...component, pretokenizers: (component.pretokenizers as unknown[]).map(withSchemes) }
  }
  if (component.type !== 'Metaspace') return component
  const scheme = component.prepend_scheme ?? (component.add_prefix_space === false ? 'never' : 'always')
  return { ...component, prepend_scheme: scheme }
}
