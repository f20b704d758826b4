/**
 * What is known of the edges so far: cells of the stored measurements that fit the prompts, metric and MLP choice on
 * screen, and those of the one that runs. In: what is asked now. Out: effects by edge, and what they come from.
 */
import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ExperimentDetail, OpenedModel, PathRequest, PromptInput } from '../../../core/api/contract.ts'
import type { PathCell } from '../../../core/intervene/path.ts'
import { api } from '../../api/client.ts'
import { type LiveSweep, useLiveSweep } from '../../api/experiments.ts'
import { sameMetric } from '../../state/metric.ts'
import { ownIds } from '../../state/prompt-of.ts'
import { useSameWeights } from '../sweeps/same-weights.ts'
import { edgeName } from './circuit.ts'

/** What an effect depends on beside its edge. */
export interface Asked {
  readonly prompts: Pick<PathRequest, 'clean' | 'corrupt'>
  readonly metric: PathRequest['metric'] | null
  /** The tokens that were chosen, as the fields keep them. */
  readonly chosen: { readonly answer?: string | undefined; readonly wrong?: string | undefined }
  readonly mlps: 'freeze' | 'recompute'
}

export interface Effects {
  readonly cells: ReadonlyMap<string, PathCell>
  /** Metric of both prompts; null until something is measured. */
  readonly ends: { readonly clean: number; readonly corrupt: number } | null
  readonly live: LiveSweep<'path'> | undefined
  /** Measurements that fit, and those that were asked for but were of something else. */
  readonly fitting: readonly ExperimentDetail<'path'>[]
  readonly others: number
  readonly warnings: readonly string[]
}

export function useEffects(model: OpenedModel, ids: readonly number[], asked: Asked): Effects {
  const live = useLiveSweep('path')
  // One that runs is heard live: a reply from its middle would stand over what it ends with.
  const ended = live?.state === 'running' ? ids.filter((id) => id !== live.experiment) : ids
  const stored = useQueries({
    queries: ended.map((id) => ({
      queryKey: ['experiment', id],
      queryFn: () => api.experiment(id),
      retry: false,
    })),
  })
  const details = stored
    .map(({ data }) => data)
    .filter((detail): detail is ExperimentDetail<'path'> => detail?.kind === 'path')
  const here = useSameWeights(
    model,
    details.map(({ request }) => request.model),
  )
  const key = JSON.stringify([
    asked,
    [...here],
    details.map(({ id, done, complete }) => [id, done, complete]),
    live?.cells.length,
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when any of them changes
  return useMemo(() => {
    const fitting = details.filter(
      ({ request }, i) => here.has(request.model) && fits(asked, request, idsOf(details[i]!)),
    )
    const cells = new Map<string, PathCell>()
    const add = (more: readonly PathCell[]) => {
      for (const cell of more) cells.set(edgeName(cell), cell)
    }
    for (const detail of fitting) add(detail.cellList)
    const own = live && [ownIds(live.request.clean), ownIds(live.request.corrupt)]
    const now = live && here.has(live.request.model) && fits(asked, live.request, own!)
    if (live && now) add(live.cells)
    const result = fitting.findLast((detail) => detail.result)?.result
    return {
      cells,
      ends: result ? { clean: result.clean, corrupt: result.corrupt } : null,
      live: now ? live : undefined,
      fitting,
      others: details.length - fitting.length,
      warnings: [...new Set(fitting.flatMap((detail) => detail.result?.warnings ?? []))],
    }
  }, [key])
}

// --- Internal helpers ---

function idsOf(detail: ExperimentDetail<'path'>): readonly (readonly number[])[] {
  return detail.prompts.map((views) => views.map((view) => view.id))
}

function fits(
  asked: Asked,
  request: PathRequest,
  prompts: readonly (readonly number[] | undefined)[],
): boolean {
  const { clean, corrupt } = asked.prompts
  return (
    prompts[0]?.join() === ownIds(clean).join() &&
    prompts[1]?.join() === ownIds(corrupt).join() &&
    sameSource(request.clean, clean) &&
    sameSource(request.corrupt, corrupt) &&
    sameMetric(request.metric, asked.metric, asked.chosen, ownIds(clean).length) &&
    (request.mlps ?? 'recompute') === asked.mlps
  )
}

/** Whether the encoder read the same; where there is none, or it was given as a text, the prompts' own tokens decide. */
function sameSource(stored: PromptInput, asked: PromptInput): boolean {
  return !asked.decoder || !stored.ids || stored.ids.join() === asked.ids?.join()
}
