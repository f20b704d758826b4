/**
 * How a BPE vocabulary of a GGUF file cuts a text before merging, by the name in `tokenizer.ggml.pre`.
 * In: a name. Out: the pre-tokenizer as tokenizer.json would hold it, and two habits that go with the name.
 * Patterns: those of the original tokenizers, by the names that llama.cpp gives them (llama-vocab.cpp).
 */
import type { JsonObject } from '../json.ts'

export interface PreTokenizer {
  readonly component: JsonObject
  /** A whole word that is in the vocabulary is taken without merging. */
  readonly ignoreMerges: boolean
  /** Whether a text begins with BOS when the file does not say. */
  readonly addsBos: boolean
}

const CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
const END = '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
const words = (digits: string) =>
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${END}`
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'
const cased = (digits: string, contractions: string) =>
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${contractions}|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${contractions}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${END}`

const LLAMA3 = [words('\\p{N}{1,3}')]
const QWEN2 = [words('\\p{N}')]
const DIGITS = ['\\p{N}', GPT2]

/** Patterns in order; each cuts the pieces of the one before. */
const PATTERNS: ReadonlyMap<string, readonly string[]> = new Map([
  ...each(['gpt-2', 'phi-2', 'mpt', 'olmo', 'jais', 'trillion', 'exaone4'], [GPT2]),
  ...each(['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b'], DIGITS),
  ...each(['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'dbrx', 'smaug-bpe', 'glm4', 'chatglm-bpe'], LLAMA3),
  ...each(['qwen2', 'stablelm2', 'deepseek-r1-qwen', 'megrez'], QWEN2),
  ...each(['bloom', 'poro-chat', 'gpt3-finnish'], [' ?[^(\\s|.,!?…。，、।۔،)]+']),
  ...each(['tekken'], [cased('\\p{N}', '')]),
  ...each(['gpt-4o', 'llama4'], [cased('\\p{N}{1,3}', `${CONTRACTIONS}?`)]),
  ...each(['falcon'], ['[\\p{P}\\$\\+<=>\\^~\\|`]+', GPT2, '[0-9][0-9][0-9]']),
  ...each(['default'], ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]']),
])

const IGNORES_MERGES = new Set(['llama-bpe', 'llama3', 'llama-v3', 'falcon3', 'tekken'])

export const preTokenizerNames: readonly string[] = [...PATTERNS.keys()]

/** The pre-tokenizer of a name, or null when the name is not known. */
export function preTokenizer(name: string): PreTokenizer | null {
  const patterns = PATTERNS.get(name)
  if (!patterns) return null
  const splits = patterns.map((pattern) => ({
    type: 'Split',
    pattern: { Regex: pattern },
    behavior: 'Isolated',
    invert: false,
  }))
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  return {
    component: { type: 'Sequence', pretokenizers: [...splits, bytes] },
    ignoreMerges: IGNORES_MERGES.has(name),
    addsBos: IGNORES_MERGES.has(name),
  }
}

function each(names: readonly string[], patterns: readonly string[]): [string, readonly string[]][] {
  return names.map((name) => [name, patterns])
}
