import { expect, test } from 'vitest'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { placeOfWord } from './place-of-word.ts'

const tokens = (...texts: string[]): TokenView[] =>
  texts.map((text, id) => ({ id, text, special: text.startsWith('<'), group: null }))

test('the token that ends the last place of a word, also over several tokens', () => {
  const views = tokens('<bos>', 'The', '·m', 'ole', '·saw', '·a', '·m', 'ole', '.')
  expect(placeOfWord(views, 'mole')).toBe(7)
  expect(placeOfWord(views, ' saw ')).toBe(4)
  expect(placeOfWord(views, 'bos')).toBeNull() // a special token is no text
  expect(placeOfWord(views, 'cat')).toBeNull()
  expect(placeOfWord(views, ' ')).toBeNull()
})
