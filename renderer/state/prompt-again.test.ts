import { afterEach, expect, test, vi } from 'vitest'
import type { RunDetail, TokenizeRequest } from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { promptAgain, readingOf } from './prompt-again.ts'

/** A tokenizer that puts 0 in front unless told not to, and reads `<e>` as one token, or as three. */
function tokenizer(given: TokenizeRequest) {
  const { text = '', bos, specials } = given as { text?: string; bos?: string; specials?: string }
  const own =
    specials === 'text' ? [...text] : text.split(/(<e>)/).flatMap((s) => (s === '<e>' ? [s] : [...s]))
  const ids = own.map((piece) => (piece === '<e>' ? 9 : piece.charCodeAt(0)))
  const all = bos === 'no' ? ids : [0, ...ids]
  return Promise.resolve({
    tokens: all.map((id) => ({ id, text: String(id), special: false, group: null })),
    merges: [],
  })
}

const asked = vi.spyOn(api, 'tokenize').mockImplementation(tokenizer as typeof api.tokenize)
afterEach(() => {
  asked.mockClear()
  queryClient.clear()
})
const codes = (text: string) => [...text].map((c) => c.charCodeAt(0))

test('an ordinary prompt is read at the first question', async () => {
  expect(await readingOf('m', 'ab', [0, ...codes('ab')])).toEqual({ text: 'ab', bos: 'auto' })
  expect(asked).toHaveBeenCalledTimes(1)
})

test('special tokens as plain text and a missing first token are found', async () => {
  expect(await readingOf('m', 'a<e>', [0, 97, 9])).toEqual({ text: 'a<e>', bos: 'auto' })
  expect(await readingOf('m', 'a<e>', [0, ...codes('a<e>')])).toMatchObject({ bos: 'auto', specials: 'text' })
  expect(await readingOf('m', 'a<e>', codes('a<e>'))).toMatchObject({ bos: 'no', specials: 'text' })
  expect(await readingOf('m', 'a<e>', [97, 9])).toEqual({ text: 'a<e>', bos: 'no' })
})

test('tokens that no reading gives: the text is run as it is', async () => {
  const views = [{ id: 5, text: 'x', special: false, group: null }]
  const run = { model: 'm', text: 'ab', views } as unknown as RunDetail
  expect(await readingOf('m', 'ab', [5])).toBeNull()
  expect(await promptAgain(run)).toEqual({ text: 'ab' })
  expect(await promptAgain({ ...run, text: null })).toEqual({ ids: [5] })
})

test('of an encoder–decoder both texts come again, each as it was given', async () => {
  const view = (id: number) => ({ id, text: String(id), special: false, group: null })
  const run = {
    model: 'm',
    text: 'ab',
    source: [0, ...codes('ab')].map(view),
    views: [view(0), view(7)],
    decoderText: 'c',
  } as unknown as RunDetail
  expect(await promptAgain(run)).toEqual({ text: 'ab', bos: 'auto', decoder: { text: 'c' } })
  expect(await promptAgain({ ...run, text: null, decoderText: null })).toEqual({
    ids: [0, ...codes('ab')],
    decoder: { ids: [0, 7] },
  })
})
