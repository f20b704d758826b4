/**
 * Whether results that were made under another path are of the weights that are open: the last step of a series is often
 * the finished model, and the workspace knows weights by their content. In: the open checkpoint, paths. Out: those that fit.
 */
import { useQueries } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'

/** Only members of the open series are asked for; of any other checkpoint, what this window has opened is known. */
export function useSameWeights(model: OpenedModel, paths: readonly string[]): ReadonlySet<string> {
  const others = [...new Set(paths)].filter((path) => path !== model.path)
  const members = new Set(model.series.map(({ path }) => path))
  const opened = useQueries({
    queries: others.map((path) => ({
      queryKey: ['model', path],
      queryFn: () => api.model(path),
      enabled: members.has(path),
      retry: false,
      refetchInterval: ({ state }: { state: { data?: OpenedModel | undefined } }) =>
        state.data?.contentHash === null ? 500 : (false as const),
    })),
  })
  const same = others.filter((_, i) => {
    const hash = opened[i]?.data?.contentHash
    return hash != null && hash === model.contentHash
  })
  return new Set([model.path, ...same])
}
