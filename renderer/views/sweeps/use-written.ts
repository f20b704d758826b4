/**
 * A prompt as it is written in a field: a text, or ids as `[5, 9, 2]`. In: the text, and which text of the model it is. Out:
 * its tokens as they would run, or what is wrong with it.
 */
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import { parseIds } from '../tokens/parse-ids.ts'

export interface Written {
  /** Empty while nothing is written. */
  readonly views: readonly TokenView[]
  readonly problem: string | null
  /** What is written last has not been read yet. */
  readonly late: boolean
}

/** `decoder`: a decoder's own text beside its encoder's. */
export function useWritten(
  model: OpenedModel,
  text: string,
  how: { readonly bos: 'auto' | 'yes' | 'no'; readonly decoder?: boolean },
): Written {
  const asked = useDeferredValue(text)
  const byIds = model.tokenizer === null
  const given = idsIn(asked, byIds, model.spec.d_vocab)
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, how],
    queryFn: ({ signal }) =>
      api.tokenize(
        given ? { model: model.path, ids: given.ids } : { model: model.path, text: asked, ...how },
        signal,
      ),
    enabled: given ? given.problem === null && given.ids.length > 0 : asked !== '',
    retry: false,
  })
  const late = asked !== text || tokens.isFetching
  if (text === '') return { views: [], problem: null, late: false }
  if (given?.problem) return { views: [], problem: given.problem, late }
  return { views: tokens.data?.tokens ?? [], problem: tokens.isError ? tokens.error.message : null, late }
}

/** A prompt as ids, `[5, 9, 2]`. */
export function idsText(ids: readonly number[]): string {
  return `[${ids.join(', ')}]`
}

// --- Internal helpers ---

function idsIn(
  text: string,
  byIds: boolean,
  vocabulary: number,
): { ids: number[]; problem: string | null } | null {
  if (text === '' || (!byIds && !/^\s*\[[\d\s,]*\]\s*$/.test(text))) return null
  return parseIds(text, vocabulary)
}
