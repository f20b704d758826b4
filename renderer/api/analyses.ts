/** Finished analyses of the workspace: the list, one of them again, and without one. Nothing here computes. */
import { useQuery } from '@tanstack/react-query'
import type { AnalysisDetail, AnalysisKind, AnalysisSummary } from '../../core/api/contract.ts'
import { get, remove } from './client.ts'

export const analysesApi = {
  list: () => get<AnalysisSummary[]>('/api/analyses'),
  one: (id: number) => get<AnalysisDetail>(`/api/analyses/${id}`),
  delete: (id: number) => remove(`/api/analyses/${id}`),
}

/** Newest first. */
export const useAnalyses = () =>
  useQuery({ queryKey: ['analyses'], queryFn: analysesApi.list, staleTime: 10_000 })

/** A stored analysis of this kind; another kind reads as nothing. */
export function useAnalysis<K extends AnalysisKind>(kind: K, id: number | null) {
  return useQuery({
    queryKey: ['analysis', id],
    queryFn: () => analysesApi.one(id!),
    select: (detail) => (detail.kind === kind ? (detail as AnalysisDetail<K>) : null),
    enabled: id !== null,
    retry: false,
  })
}
