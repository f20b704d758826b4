/** Whether a sweep is of the prompt that is shown. In: a sweep, the shown run. Out: yes or no, and its ids. Pure. */
import type { ExperimentKind, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import { ownIds } from '../../state/prompt-of.ts'
import type { ShownSweep } from './use-sweep.ts'

/** A sweep of any kind, as far as its place is concerned. */
export type AnySweep = Pick<
  ShownSweep<ExperimentKind>,
  'modelName' | 'here' | 'stored' | 'request' | 'prompts'
>

/** Ids of its prompt (0: the only or clean one, 1: the corrupt one); empty where they are not known or there is none. */
export function idsOfSweep(
  { request, prompts }: Pick<AnySweep, 'request' | 'prompts'>,
  which: 0 | 1,
): readonly number[] {
  const views = prompts[which]
  if (views) return views.map((view) => view.id)
  const given = promptOfSweep(request, which)
  return given ? ownIds(given) : []
}

/** What cannot be told is taken as the same. */
export function isOfRun(
  sweep: Pick<AnySweep, 'request' | 'prompts'>,
  run: Pick<RunDetail, 'views' | 'source'>,
): boolean {
  const ids = idsOfSweep(sweep, 0)
  const own = run.views.map((view) => view.id)
  if (ids.length > 0 && !sameIds(ids, own)) return false
  const read = promptOfSweep(sweep.request, 0)
  if (!run.source || !read?.decoder || !read.ids) return true
  return sameIds(
    read.ids,
    run.source.map((view) => view.id),
  )
}

export function sameIds(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id, i) => id === other[i])
}

// --- Internal helpers ---

function promptOfSweep(request: AnySweep['request'], which: 0 | 1): PromptInput | null {
  if ('prompt' in request) return which === 0 ? request.prompt : null
  return which === 0 ? request.clean : request.corrupt
}
