/** What the views read, as hooks. Runs never change, so their parts are kept as long as somebody looks. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { actingEdits } from '../state/edits.ts'
import type { HeadId } from '../state/selection.ts'
import { useSelection } from '../state/store.ts'
import { api } from './client.ts'
import { editedRun } from './edited-run.ts'
import { fetchPattern, peekPattern } from './patterns.ts'

export const useAbout = () => useQuery({ queryKey: ['about'], queryFn: api.about })

export const useLibrary = () => useQuery({ queryKey: ['library'], queryFn: api.library })

/** The selected checkpoint, opened. Asks again until the background hash is there. */
export function useModel() {
  const path = useSelection((s) => s.model)
  return useQuery({
    queryKey: ['model', path],
    queryFn: () => api.openModel(path!),
    enabled: path !== null,
    refetchInterval: (query) => (query.state.data && query.state.data.contentHash === null ? 500 : false),
  })
}

/** Of a checkpoint; unasked: of the selected one. */
export function useScan(of?: string | null) {
  const selected = useSelection((s) => s.model)
  const path = of === undefined ? selected : of
  return useQuery({ queryKey: ['scan', path], queryFn: () => api.scan(path!), enabled: path !== null })
}

export function useRun() {
  const id = useSelection((s) => s.run)
  return useQuery({ queryKey: ['run', id], queryFn: () => api.run(id!), enabled: id !== null })
}

/** The run that is held to be seen beside the selected one. */
export function useHeldRun() {
  const id = useSelection((s) => s.held?.run ?? null)
  return useQuery({ queryKey: ['run', id], queryFn: () => api.run(id!), enabled: id !== null })
}

/** Of a run; unasked: of the selected one. */
export function useThumbnails(of?: number | null) {
  const selected = useSelection((s) => s.run)
  const id = of === undefined ? selected : of
  return useQuery({ queryKey: ['thumbnails', id], queryFn: () => api.thumbnails(id!), enabled: id !== null })
}

export function useInduction() {
  const id = useSelection((s) => s.run)
  return useQuery({ queryKey: ['induction', id], queryFn: () => api.induction(id!), enabled: id !== null })
}

/** One head's pattern; while the next one loads, the previous one of the same run stays. */
export function usePattern(run: number | null, head: HeadId | null) {
  const known = run !== null && head !== null ? peekPattern(run, head.layer, head.head) : undefined
  return useQuery({
    queryKey: ['pattern', run, head?.layer, head?.head],
    queryFn: async () => ({
      run: run!,
      ...head!,
      pattern: await fetchPattern(run!, head!.layer, head!.head),
    }),
    enabled: run !== null && head !== null,
    ...(known ? { initialData: { run: run!, ...head!, pattern: known } } : {}),
    placeholderData: keepPreviousData,
    gcTime: 0, // patterns.ts keeps the last ones within a budget
  })
}

/** The selected run with the active edits: made once for each set of edits, then read from the store. */
export function useEditedRun() {
  const run = useRun().data
  const edits = actingEdits(useSelection((s) => s.edits))
  return useQuery({
    queryKey: ['edited', run?.id, JSON.stringify(edits)],
    queryFn: () => editedRun(run!, edits),
    enabled: run !== undefined && edits.length > 0,
    retry: false,
  })
}
