import { expect, it } from 'vitest'
import { repeatedOpening } from './start-prompt.ts'

it('says the first clause twice, cut at a word', () => {
  expect(repeatedOpening('  The cat\n sat, and then ')).toBe('The cat sat. The cat sat')
  const long = repeatedOpening('word '.repeat(100))!
  expect(long.length).toBeLessThanOrEqual(2 * 72 + 2)
  expect(long).toMatch(/^word( word)*\. word( word)*$/)
})

it('is null for a text without words', () => {
  expect(repeatedOpening('')).toBeNull()
  expect(repeatedOpening(' … ')).toBeNull()
})
