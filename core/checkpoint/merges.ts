/**
 * The merges that build a token of a BPE vocabulary, in the order in which they happen.
 * In: a checked tokenizer.json model. Out: a function of a piece. Cost: one table of ranks, made when first asked.
 */
import { isObject, type JsonObject } from './json.ts'
import type { Merge } from './types.ts'

/** @returns a function that merges the characters of a piece by rank; other models give no merges */
export function createMerges(model: JsonObject): (piece: string) => Merge[] {
  if (model.type !== 'BPE' || !Array.isArray(model.merges)) return () => []
  const suffix = typeof model.end_of_word_suffix === 'string' ? model.end_of_word_suffix : ''
  let ranks: Map<string, number> | null = null
  return (piece) => {
    ranks ??= rankTable(model.merges as readonly unknown[])
    const vocab = isObject(model.vocab) ? model.vocab : {}
    const parts = units(piece, suffix, vocab)
    const merges: Merge[] = []
    for (;;) {
      let best = -1
      let rank = Number.POSITIVE_INFINITY
      for (let i = 0; i + 1 < parts.length; i++) {
        const found = ranks.get(key(parts[i]!, parts[i + 1]!))
        if (found !== undefined && found < rank) {
          best = i
          rank = found
        }
      }
      if (best < 0) break
      const [left, right] = parts.splice(best, 2) as [string, string]
      parts.splice(best, 0, left + right)
      merges.push({ left, right, result: left + right, rank })
    }
    return parts.length === 1 ? merges : [] // not a token that merges reach
  }
}

/** The units before any merge: characters, the last one with the mark of a word's end. */
function units(piece: string, suffix: string, vocab: JsonObject): string[] {
  if (suffix === '' || !piece.endsWith(suffix) || piece === suffix) return [...piece]
  const characters = [...piece.slice(0, -suffix.length)]
  const last = characters.pop()! + suffix
  return last in vocab ? [...characters, last] : [...piece]
}

function rankTable(merges: readonly unknown[]): Map<string, number> {
  const ranks = new Map<string, number>()
  merges.forEach((merge, rank) => {
    const [left, right] = (typeof merge === 'string' ? merge.split(' ') : merge) as [string, string]
    const pair = key(left, right)
    if (!ranks.has(pair)) ranks.set(pair, rank)
  })
  return ranks
}

/** Pieces hold no character 0 between them that could be mistaken for the border. */
function key(left: string, right: string): string {
  return `${left.length}:${left}${right}`
}
