/**
 * A second prompt beside the selected one. In: its text (or ids, where there is no tokenizer) as it stands in the address.
 * Out: its tokens and ids as they would run, or what is wrong with it.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import { useTool } from '../../state/store.ts'
import { parseIds } from '../tokens/parse-ids.ts'

export interface Other {
  readonly text: string
  readonly setText: (text: string) => void
  /** Empty while there is none. */
  readonly views: readonly TokenView[]
  readonly problem: string | null
}

export function useOther(model: OpenedModel, run: RunDetail): Other {
  const [text, setText] = useTool<string>('other', '')
  const asked = useDeferredValue(text)
  const words = model.tokenizer !== null
  // Beside a source it is the decoder's own text, its start token first.
  const how = run.source
    ? ({ bos: 'auto', decoder: true } as const)
    : { bos: run.views[0]?.special ? ('yes' as const) : ('no' as const) }
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, how],
    queryFn: ({ signal }) => api.tokenize({ model: model.path, text: asked, ...how }, signal),
    enabled: words && asked !== '',
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (text === '') return { text, setText, views: [], problem: null }
  if (words)
    return { text, setText, views: tokens.data?.tokens ?? [], problem: tokens.error?.message ?? null }
  const { ids, problem } = parseIds(text, model.spec.d_vocab)
  const views = ids.map((id) => ({ id, text: String(id), special: false, group: null }))
  return { text, setText, views, problem }
}
