/** Reads typed ids, separated by commas or spaces. `problem` is one sentence, or null. Pure. */
export function parseIds(text: string, vocabulary: number): { ids: number[]; problem: string | null } {
  const words = text.split(/[\s,[\]]+/).filter((word) => word !== '')
  const bad = words.find((word) => !/^\d{1,9}$/.test(word))
  if (bad !== undefined) return { ids: [], problem: `“${bad}” is not a token id: ids are whole numbers.` }
  const ids = words.map(Number)
  const beyond = ids.find((id) => id >= vocabulary)
  if (beyond !== undefined)
    return { ids: [], problem: `id ${beyond} is out of range: this model knows 0 to ${vocabulary - 1}.` }
  return { ids, problem: null }
}
