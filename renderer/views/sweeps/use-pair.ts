/**
 * The two prompts of a comparison: the selected run as the clean one, a text as the corrupt one, and the metric that tells
 * them apart. In: the open checkpoint and run. Out: ids, tokens, where they differ, or why nothing can start yet.
 */
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import type { OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { api } from '../../api/client.ts'
import { promptOf, promptWith } from '../../state/prompt-of.ts'
import { useTool } from '../../state/store.ts'
import { parseIds } from '../tokens/parse-ids.ts'
import { align } from './alignment.ts'
import { useMetric, useMetricPosition } from './metric-fields.tsx'

export interface Pair {
  /** The corrupt prompt as it is written: a text, or ids as `[5, 9, 2]`. */
  readonly text: string
  readonly setText: (next: string) => void
  readonly clean: readonly TokenView[]
  readonly corrupt: readonly TokenView[]
  readonly differing: readonly number[]
  /** Why the two cannot be compared; null where they can, or while nothing is written. */
  readonly problem: string | null
  readonly ready: boolean
  /** Why nothing can be measured now, in words for a hint; null where it can. */
  readonly missing: string | null
  readonly cleanIds: readonly number[]
  readonly corruptIds: readonly number[]
  /** As a request has them. */
  readonly prompts: { readonly clean: PromptInput; readonly corrupt: PromptInput }
  /** The corrupt prompt is written as ids: without a tokenizer, or where it is a decoder's. */
  readonly byIds: boolean
  /** null: a token is missing, or not known before the corrupt prompt's prediction has come. */
  readonly metric: Metric | null
  /** What the metric compares where nothing was chosen. */
  readonly answer: TokenView | null
  readonly wrong: TokenView | null
  readonly likely: readonly TokenView[]
}

export function usePair(model: OpenedModel, run: RunDetail): Pair {
  const [text, setText] = useTool<string>('corrupt', '')
  const asked = useDeferredValue(text)
  const bos = run.views[0]?.special ? 'yes' : 'no'
  const byIds = model.tokenizer === null || run.source !== undefined
  const given = idsIn(asked, byIds, model)
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, bos],
    queryFn: ({ signal }) =>
      api.tokenize(
        given ? { model: model.path, ids: given.ids } : { model: model.path, text: asked, bos },
        signal,
      ),
    enabled: given ? given.problem === null && given.ids.length > 0 : asked !== '',
    retry: false,
  })
  const corrupt = text === '' || given?.problem ? [] : (tokens.data?.tokens ?? [])
  const aligned = align(run.views, corrupt)
  const { differing } = aligned
  const problem = given?.problem ?? aligned.problem
  const ready = corrupt.length > 0 && problem === null && asked === text
  const cleanIds = run.views.map((view) => view.id)
  const corruptIds = corrupt.map((view) => view.id)
  const prompts = { clean: promptOf(run), corrupt: promptWith(run, corruptIds) }
  const pos = useMetricPosition(run.views.length)
  const said = useQuery({
    queryKey: ['predict', model.path, prompts.corrupt, pos],
    queryFn: ({ signal }) =>
      api.predict({ model: model.path, prompt: prompts.corrupt, edits: [], pos }, signal),
    enabled: ready,
    retry: false,
  })
  const cleanTop = run.predictions[pos]?.topTokens ?? []
  const corruptTop = said.data?.base.top.map(({ token }) => token) ?? []
  const answer = cleanTop[0] ?? null
  const wrong = corruptTop.find((token) => token.id !== answer?.id) ?? cleanTop[1] ?? null
  const likely = [
    ...cleanTop,
    ...corruptTop.filter((token) => !cleanTop.some((t) => t.id === token.id)),
  ].slice(0, 10)
  // Until the prediction is there, the wrong token is not: what starts now would be of another metric than what is seen next.
  const metric = useMetric(answer, ready && said.isPending ? null : wrong)
  const reading = asked !== text || tokens.isFetching || (ready && said.isPending)
  return {
    text,
    setText,
    clean: run.views,
    corrupt,
    differing: corrupt.length === 0 ? [] : differing,
    problem: problem ?? (tokens.isError ? tokens.error.message : null),
    ready,
    missing:
      metric !== null && ready
        ? null
        : reading
          ? 'The model is reading the corrupt prompt'
          : ready
            ? 'Choose the tokens of the metric first'
            : 'Write a corrupt prompt of as many tokens first',
    cleanIds,
    corruptIds,
    prompts,
    byIds,
    metric,
    answer,
    wrong,
    likely,
  }
}

/** A corrupt prompt as ids, `[5, 9, 2]`. */
export function idsText(ids: readonly number[]): string {
  return `[${ids.join(', ')}]`
}

// --- Internal helpers ---

function idsIn(
  text: string,
  byIds: boolean,
  model: OpenedModel,
): { ids: number[]; problem: string | null } | null {
  if (text === '' || (!byIds && !/^\s*\[[\d\s,]*\]\s*$/.test(text))) return null
  return parseIds(text, model.spec.d_vocab)
}
