/**
 * The tokenizer library, set right where it differs from the Rust reference.
 * In: a checked tokenizer.json. Out: a function from text to ids, without any token put around the text.
 * Set right here: Split and Punctuation behaviours, Metaspace's split, digits and word characters beyond ASCII,
 * the unknown token of WordLevel models.
 */
import { Tokenizer as Library } from '@huggingface/tokenizers'
import { HeadscopeError } from '../errors.ts'
import { isObject, type JsonObject } from './json.ts'
import type { TokenizerFile } from './tokenizer-file.ts'

type Splitter = (text: string, options?: unknown) => string[]
type Behavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous'

/**
 * Builds the encoder.
 * @param specials false: special tokens in a text are plain characters
 * @throws HeadscopeError when a pattern in the file cannot be read
 */
export function buildEncoder(file: TokenizerFile, specials = true): (text: string) => number[] {
  const { json, model, added } = file
  const unk = file.unkId === null ? null : model.unk_token
  const parts = Object.assign(Object.create(null), {
    normalizer: json.normalizer ?? null,
    pre_tokenizer: withSchemes(json.pre_tokenizer ?? null),
    post_processor: null,
    decoder: null,
    model: Object.assign(Object.create(null), model, model.type === 'Unigram' ? {} : { unk_token: unk }),
    added_tokens: ((json.added_tokens ?? []) as JsonObject[]).filter(
      (_, i) => specials || !added[i]!.special,
    ),
  })
  let library: Library
  try {
    library = new Library(parts, { unk_token: unk })
    repair(library.pre_tokenizer as unknown as Splitting | null, parts.pre_tokenizer)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HeadscopeError('unsupported', `tokenizer.json cannot be used (${why}); give prompts as ids.`, {
      cause: error,
    })
  }
  return (text) => {
    const ids = library.encode(text, { add_special_tokens: false }).ids as (number | undefined)[]
    if (ids.some((id) => id === undefined)) {
      throw new HeadscopeError(
        'bad-prompt',
        'A part of the text is not in the vocabulary, and the tokenizer has no unknown token; change the text or give ids.',
      )
    }
    return ids as number[]
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

/** The parts of the library's pre-tokenizers that are used here. */
interface Splitting {
  pre_tokenize_text: Splitter
  readonly pattern?: RegExp | null
  readonly tokenizers?: readonly Splitting[]
}

/** Replaces the split functions of the library's pre-tokenizers, part by part. */
function repair(instance: Splitting | null, component: unknown): void {
  if (!instance || !isObject(component)) return
  if (component.type === 'Sequence') {
    instance.tokenizers?.forEach((part, i) => {
      repair(part, (component.pretokenizers as unknown[])[i])
    })
    return
  }
  const split = splitterOf(component, instance.pattern ?? null, instance.pre_tokenize_text.bind(instance))
  if (split) instance.pre_tokenize_text = split
}

function splitterOf(component: JsonObject, pattern: RegExp | null, before: Splitter): Splitter | null {
  const behavior = (component.behavior ?? 'Isolated') as Behavior
  switch (component.type) {
    case 'Split':
      return (text) => splitText(text, patternOf(component, pattern), behavior, component.invert === true)
    case 'Punctuation':
      return (text) => splitText(text, /[\p{P}!-/:-@[-`{-~]/gu, behavior, false)
    case 'Digits':
      return (text) =>
        splitText(text, /\p{N}/gu, component.individual_digits === true ? 'Isolated' : 'Contiguous', false)
    case 'Whitespace':
      return (text) =>
        text.match(
          /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\s]+/gu,
        ) ?? []
    case 'Metaspace': {
      if (component.split === false) return null
      const mark = typeof component.replacement === 'string' ? component.replacement : '▁'
      const marks = new RegExp(escapePattern(mark), 'gu')
      return (text, options) =>
        before(text, options).flatMap((part) => splitText(part, marks, 'MergedWithNext', false))
    }
    default:
      return null
  }
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** A literal pattern is searched as it is; the library translated the others. */
function patternOf(component: JsonObject, translated: RegExp | null): RegExp {
  const literal = isObject(component.pattern) ? component.pattern.String : undefined
  if (typeof literal === 'string') return new RegExp(escapePattern(literal), 'gu')
  if (!translated)
    throw new HeadscopeError('unsupported', 'tokenizer.json: a Split has no pattern; give prompts as ids.')
  return translated
}

/**
 * Splits a text by a pattern as the reference does: every stretch is a match or a gap, `invert` swaps the two, and
 * the behaviour says where matches go.
 */
export function splitText(text: string, pattern: RegExp, behavior: Behavior, invert: boolean): string[] {
  const stretches: { text: string; match: boolean }[] = []
  let at = 0
  for (const found of text.matchAll(pattern)) {
    if (found[0] === '') continue
    if (found.index > at) stretches.push({ text: text.slice(at, found.index), match: invert })
    stretches.push({ text: found[0], match: !invert })
    at = found.index + found[0].length
  }
  if (at < text.length) stretches.push({ text: text.slice(at), match: invert })
  if (behavior === 'Removed') return stretches.filter(({ match }) => !match).map((stretch) => stretch.text)
  if (behavior === 'Isolated') return stretches.map((stretch) => stretch.text)
  const backwards = behavior === 'MergedWithNext'
  const out: string[] = []
  let previous = false
  for (const stretch of backwards ? stretches.reverse() : stretches) {
    const joins = behavior === 'Contiguous' ? stretch.match === previous : stretch.match && !previous
    if (joins && out.length > 0) out.push(backwards ? stretch.text + out.pop()! : out.pop()! + stretch.text)
    else out.push(stretch.text)
    previous = stretch.match
  }
  return backwards ? out.reverse() : out
}
