/** The name that a mistyped word most likely means. */

/** The nearest of `known` when at most a third of its letters differ, else null. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const name of known) {
    const distance = name.startsWith(word) && word.length > 1 ? 1 : changes(word, name)
    if (distance < least && distance <= Math.max(1, Math.ceil(name.length / 3))) {
      least = distance
      best = name
    }
  }
  return best
}

/** Letters to change, add or leave out (Levenshtein). */
function changes(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}
