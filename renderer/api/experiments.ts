/**
 * Sweeps: starts one, keeps its cells as they come, and reads stored ones. In: a request of the contract. Out: for each
 * kind the newest live sweep, with its cells so far, at most ten times a second.
 */
import { useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { ExperimentDetail, ExperimentKind, Experiments } from '../../core/api/contract.ts'
import type { SweepEstimate } from '../../core/intervene/types.ts'
import { createStore } from '../state/store.ts'
import { api } from './client.ts'
import { follow } from './jobs.ts'
import { queryClient } from './query-client.ts'

export interface LiveSweep<K extends ExperimentKind> {
  readonly kind: K
  readonly request: Experiments[K]['request']
  /** null until it has begun. */
  readonly experiment: number | null
  readonly estimate: SweepEstimate | null
  readonly cells: readonly Experiments[K]['cell'][]
  readonly state: 'running' | 'done' | 'stopped'
  /** Why it stopped. */
  readonly problem: string | null
}

type AnySweep = { readonly [K in ExperimentKind]?: LiveSweep<K> }

const EVERY_MS = 100
const live = createStore<AnySweep>({})

export function useLiveSweep<K extends ExperimentKind>(kind: K): LiveSweep<K> | undefined {
  return useSyncExternalStore(live.subscribe, () => live.get()[kind]) as LiveSweep<K> | undefined
}

/** A stored sweep of this kind; another kind reads as nothing. */
export function useExperiment<K extends ExperimentKind>(kind: K, id: number | null) {
  return useQuery({
    queryKey: ['experiment', id],
    queryFn: async () => {
      const detail = await api.experiment(id!)
      return detail.kind === kind ? (detail as ExperimentDetail<K>) : null
    },
    enabled: id !== null,
  })
}

/** Starts a sweep. Resolves with what is stored when it is complete; rejects when it is cancelled or fails. */
export async function startSweep<K extends ExperimentKind>(
  kind: K,
  request: Experiments[K]['request'],
  title: string,
  onBegun: (experiment: number) => void,
): Promise<ExperimentDetail<K>> {
  const cells: Experiments[K]['cell'][] = []
  let now: LiveSweep<K> = {
    kind,
    request,
    experiment: null,
    estimate: null,
    cells,
    state: 'running',
    problem: null,
  }
  let waiting: ReturnType<typeof setTimeout> | undefined
  const show = (patch: Partial<LiveSweep<K>>) => {
    clearTimeout(waiting)
    waiting = undefined
    now = { ...now, ...patch, cells: cells.slice() }
    live.set({ ...live.get(), [kind]: now })
  }
  show({})
  try {
    const result = await follow<ExperimentDetail<K>, Experiments[K]['cell']>(
      api.startExperiment(kind, request),
      { kind, model: request.model, title },
      (event) => {
        if (event.type === 'begun') {
          show({ experiment: event.experiment, estimate: event.estimate })
          onBegun(event.experiment)
        } else if (event.type === 'cells') {
          for (const cell of event.cells) cells.push(cell)
          waiting ??= setTimeout(() => show({}), EVERY_MS)
        }
      },
    )
    queryClient.setQueryData(['experiment', result.id], result)
    void queryClient.invalidateQueries({ queryKey: ['experiments'] })
    show({ state: 'done' })
    return result
  } catch (error) {
    show({ state: 'stopped', problem: (error as Error).message })
    void queryClient.invalidateQueries({ queryKey: ['experiments'] })
    if (now.experiment !== null)
      void queryClient.invalidateQueries({ queryKey: ['experiment', now.experiment] })
    throw error
  }
}
