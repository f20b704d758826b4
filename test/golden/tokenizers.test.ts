/**
 * 200 texts through tokenizers of every kind: the ids of the Python library tokenizers, one by one.
 * Files and ids: test/fixtures/tokenizers/make_tokenizers.py.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openTokenizer, type Tokenizer } from '../../core/index.ts'
import { FIXTURES } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'tokenizers')
const json = (name: string) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))

interface Expected {
  readonly ids: readonly (readonly number[])[]
  readonly pairs: readonly {
    readonly texts: readonly [string, string]
    readonly ids: readonly number[]
    readonly types: readonly number[]
  }[]
}

const corpus: readonly string[] = json('corpus.json')
const { made_with: _, ...expected } = json('expected.json') as Record<string, Expected>

test('the corpus has 200 texts', () => {
  expect(corpus).toHaveLength(200)
})

describe.each(Object.keys(expected))('%s', (name) => {
  const { tokenizer, problem } = openTokenizer(join(FOLDER, name))

  test('every text has the reference’s ids', () => {
    expect(problem).toBeNull()
    const wrong = corpus.flatMap((text, i) => {
      const ours = idsOf(tokenizer!, text)
      const theirs = expected[name]!.ids[i]!
      return ours.join() === theirs.join() ? [] : [{ text, ours: ours.join(), theirs: theirs.join() }]
    })
    expect(wrong).toEqual([])
  })

  test('pairs have the reference’s ids and token types', () => {
    for (const { texts, ids, types } of expected[name]!.pairs) {
      expect(tokenizer!.encodePair(...texts)).toEqual({ ids, typeIds: types })
    }
  })
})

function idsOf(tokenizer: Tokenizer, text: string): number[] {
  return tokenizer.encode(text)
}
