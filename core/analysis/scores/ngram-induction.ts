/** Induction that matches two tokens: does the head tell apart copies by what stood before them? */
import type { PatternScore } from './score.ts'

export const ngramInduction: PatternScore = {
  name: 'ngram_induction',
  title: 'Bigram induction',
  definition:
    'How far a head prefers the copy whose preceding token matches too: in sequences with x A B … y A C … x A, mean over queries A of the attention to B (t_{j−1} = t_{q−1}) minus the attention to C (t_{j−1} ≠ t_{q−1}). 0 for a head that matches the last token only, 1 for one that matches two, −1 for the contrary.',
  kind: 'pattern',
  sequences: 'two_contexts',
  needs: [],
  places({ ids }) {
    const earlier = new Map<number, number[]>()
    return ids.flatMap((id, query) => {
      const copies = (earlier.get(id) ?? []).filter((copy) => copy > 0 && copy + 1 < query)
      earlier.set(id, [...(earlier.get(id) ?? []), query])
      const same = copies.filter((copy) => ids[copy - 1] === ids[query - 1])
      const other = copies.filter((copy) => ids[copy - 1] !== ids[query - 1])
      if (same.length === 0 || other.length === 0) return []
      const after = (copy: number) => copy + 1
      return [{ query, keys: same.map(after), against: other.map(after) }]
    })
  },
}
