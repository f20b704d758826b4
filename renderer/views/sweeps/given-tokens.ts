/**
 * The answer and the wrong token as they were chosen, where they are tokens of the open checkpoint: the address keeps an id
 * with its text, and another vocabulary has another token under the same id. In: the open checkpoint. Out: both, or null.
 */
import { useQueries } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { type ChosenToken, parseToken } from '../../state/metric.ts'
import { useSelection } from '../../state/store.ts'

export interface GivenTokens {
  readonly answer: ChosenToken | null
  readonly wrong: ChosenToken | null
}

export function useGivenTokens(model: OpenedModel): GivenTokens {
  const tool = useSelection((s) => s.tool)
  const given = [parseToken(tool.answer ?? ''), parseToken(tool.wrong ?? '')].map((token) =>
    token && token.id < model.spec.d_vocab ? token : null,
  )
  const known = useQueries({
    queries: given.map((token) => ({
      queryKey: ['token', model.path, token?.id],
      queryFn: async () => (await api.tokenize({ model: model.path, ids: [token!.id] })).tokens[0] ?? null,
      enabled: token !== null && model.tokenizer !== null,
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  })
  const [answer = null, wrong = null] = given.map((token, i) => {
    const text = known[i]?.data?.text
    return token && (text === undefined || isCalled(token, text)) ? token : null
  })
  return { answer, wrong }
}

/** `text`: as the vocabulary shows the token of this id. A kept text is that, or as it was written in a sweep. */
export function isCalled({ id, text: kept }: ChosenToken, text: string): boolean {
  const shown = kept.replaceAll(' ', '·').replaceAll('\n', '⏎').replaceAll('\t', '⇥')
  return kept === text || shown === text || kept === `#${id}` || kept === ''
}
