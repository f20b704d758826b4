/**
 * The two prompts of a comparison: the selected run as the clean one, a written one as the corrupt one, and the metric that
 * tells them apart. Of an encoder–decoder each prompt is two texts, and what of the corrupt one is not written is the clean
 * one's. In: the open checkpoint and run. Out: ids, tokens, where they differ, or why nothing can start yet.
 */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { api } from '../../api/client.ts'
import { promptOf, promptWith } from '../../state/prompt-of.ts'
import { useTool } from '../../state/store.ts'
import { align } from './alignment.ts'
import { useMetric, useMetricPosition } from './metric-fields.tsx'
import { useWritten } from './use-written.ts'

/** A text of the pair: as it is written for the corrupt prompt, and the tokens of both. */
export interface PairText {
  /** A text, or ids as `[5, 9, 2]`. */
  readonly text: string
  readonly setText: (next: string) => void
  readonly clean: readonly TokenView[]
  /** Empty while nothing is written at all. */
  readonly corrupt: readonly TokenView[]
  readonly differing: readonly number[]
}

export interface Pair extends PairText {
  /** What the encoder reads, where `clean` and `corrupt` are the decoder's own. */
  readonly source: PairText | null
  /** Why the two cannot be compared; null where they can, or while nothing is written. */
  readonly problem: string | null
  readonly ready: boolean
  /** Why nothing can be measured now, in words for a hint; null where it can. */
  readonly missing: string | null
  /** As a request has them. */
  readonly prompts: { readonly clean: PromptInput; readonly corrupt: PromptInput }
  /** Prompts are written as ids: there is no tokenizer. */
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
  const [sourceText, setSourceText] = useTool<string>('corruptsource', '')
  const reads = run.source
  const own = useWritten(
    model,
    text,
    reads ? { bos: 'auto', decoder: true } : { bos: run.views[0]?.special ? 'yes' : 'no' },
  )
  const other = useWritten(model, reads ? sourceText : '', { bos: 'auto' })
  const nothing = text === '' && (!reads || sourceText === '')
  const corrupt = nothing ? [] : text === '' ? run.views : own.views
  const source = reads && {
    text: sourceText,
    setText: setSourceText,
    clean: reads,
    corrupt: nothing ? [] : sourceText === '' ? reads : other.views,
  }
  const together = !source || source.corrupt.length === 0 || sameIds(source.clean, source.corrupt)
  const aligned = align(run.views, corrupt, together)
  const late = own.late || other.late
  const problem = own.problem ?? other.problem ?? aligned.problem
  const ready = corrupt.length > 0 && (!source || source.corrupt.length > 0) && problem === null && !late
  const prompts = {
    clean: promptOf(run),
    corrupt: promptWith(source ? { source: source.corrupt } : {}, corrupt.map(idOf)),
  }
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
  const metric = useMetric(model, answer, ready && said.isPending ? null : wrong)
  const reading = late || (ready && said.isPending)
  return {
    text,
    setText,
    clean: run.views,
    corrupt,
    differing: aligned.differing,
    source: source ? { ...source, differing: align(source.clean, source.corrupt, false).differing } : null,
    problem,
    ready,
    missing:
      metric !== null && ready
        ? null
        : reading
          ? 'The model is reading the corrupt prompt'
          : ready
            ? 'Choose the tokens of the metric first'
            : 'Write a corrupt prompt of as many tokens first',
    prompts,
    byIds: model.tokenizer === null,
    metric,
    answer,
    wrong,
    likely,
  }
}

// --- Internal helpers ---

function idOf({ id }: TokenView): number {
  return id
}

function sameIds(one: readonly TokenView[], other: readonly TokenView[]): boolean {
  return one.length === other.length && one.every((view, i) => view.id === other[i]?.id)
}
