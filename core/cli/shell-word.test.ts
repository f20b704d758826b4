import { expect, it } from 'vitest'
import { shellWord } from './shell-word.ts'

it('quotes what a shell would take apart', () => {
  expect(shellWord('models/induction-2l')).toBe('models/induction-2l')
  expect(shellWord('my work.db')).toBe("'my work.db'")
  expect(shellWord("it's")).toBe("'it'\\''s'")
  expect(shellWord('')).toBe("''")
})
