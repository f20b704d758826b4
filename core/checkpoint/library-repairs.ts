/**
 * Parts of the tokenizer library, set right where they differ from the Rust reference.
 * In: the library's normalizer or pre-tokenizer and the component that it was built from. Out: the same object,
 * changed. Set right here: what counts as a space (U+0085 does, U+FEFF does not), Split and Punctuation behaviours,
 * Metaspace's split, digits and word characters beyond ASCII, lower case letter by letter, rare Chinese characters.
 */
import { HeadscopeError } from '../errors.ts'
import { escapePattern } from './added-tokens.ts'
import { isObject, type JsonObject } from './json.ts'

type Splitter = (text: string, options?: unknown) => string[]
type Behavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous'

/** GPT-2's words. */
const GPT2 =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu
/** BERT's: each punctuation mark alone. */
const BERT = /[^\p{White_Space}\p{P}!-/:-@[-`{-~]+|[\p{P}!-/:-@[-`{-~]/gu
/** Ideographs that BertNormalizer sets apart. */
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu

/** The parts of the library's normalizers that are used here. */
interface Normalizing {
  normalize(text: string): string
  tokenize_chinese_chars?(text: string): string
  strip_accents?(text: string): string
  clean_text?(text: string): string
  readonly normalizers?: readonly Normalizing[]
}

/** Replaces functions of the library's normalizers, part by part. */
export function repairNormalizer(part: unknown, component: unknown): void {
  const instance = part as Normalizing | null
  if (!instance || !isObject(component)) return
  if (component.type === 'Sequence') {
    instance.normalizers?.forEach((child, i) => {
      repairNormalizer(child, (component.normalizers as unknown[])[i])
    })
  } else if (component.type === 'Lowercase') {
    instance.normalize = lowerCase
  } else if (component.type === 'BertNormalizer') {
    instance.normalize = (text) => {
      let out = component.clean_text === false ? text : instance.clean_text!(text)
      if (component.handle_chinese_chars !== false) out = out.replace(CHINESE, ' $& ')
      if (component.strip_accents ?? component.lowercase) out = instance.strip_accents!(out)
      return component.lowercase ? lowerCase(out) : out
    }
  }
}

/** Each letter by itself: a sigma at the end of a word stays an ordinary one. */
function lowerCase(text: string): string {
  let out = ''
  for (const char of text) out += char.toLowerCase()
  return out
}

/** The parts of the library's pre-tokenizers that are used here. */
interface Splitting {
  pre_tokenize_text: Splitter
  pattern?: RegExp | null
  readonly tokenizers?: readonly Splitting[]
}

/** Replaces the split functions of the library's pre-tokenizers, part by part. */
export function repairPreTokenizer(part: unknown, component: unknown): void {
  const instance = part as Splitting | null
  if (!instance || !isObject(component)) return
  if (component.type === 'Sequence') {
    instance.tokenizers?.forEach((child, i) => {
      repairPreTokenizer(child, (component.pretokenizers as unknown[])[i])
    })
    return
  }
  if (component.type === 'ByteLevel') instance.pattern = GPT2
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
    case 'WhitespaceSplit':
      return (text) => text.match(/\P{White_Space}+/gu) ?? []
    case 'Whitespace':
      return (text) =>
        text.match(
          /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu,
        ) ?? []
    case 'BertPreTokenizer':
      return (text) => text.match(BERT) ?? []
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
