/** Shows a stored analysis in its tab, with its checkpoint open. In: an entry of the list. Computes nothing. */
import type { AnalysisKind, AnalysisSummary, RunDetail } from '../../core/api/contract.ts'
import { analysesApi } from '../api/analyses.ts'
import { forgetWork, resultTool, type WorkKind } from '../api/heads.ts'
import { queryClient } from '../api/query-client.ts'
import { openCheckpoint } from './open.ts'
import type { Selection } from './selection.ts'
import { getSelection, select } from './store.ts'

/** The tab of each kind, its setting of what is asked there, and the work whose place it takes. */
const PLACES: Record<AnalysisKind, { tab: string; work: WorkKind; tool?: Record<string, string> }> = {
  spans: { tab: 'corpus', work: 'spans', tool: { corpus: '' } },
  corpus: { tab: 'corpus', work: 'examples', tool: { corpus: 'examples' } },
  relation: { tab: 'relation', work: 'relation' },
  compare: { tab: 'compare', work: 'compare' },
  series: { tab: 'series', work: 'series' },
}

/** Whether this analysis is what the selected tab shows. */
export function isShown(
  { id, kind }: Pick<AnalysisSummary, 'id' | 'kind'>,
  { tab, tool }: Pick<Selection, 'tab' | 'tool'>,
): boolean {
  const place = PLACES[kind]
  const asks = Object.entries(place.tool ?? {}).every(([name, value]) => (tool[name] ?? '') === value)
  return tab === place.tab && asks && tool[resultTool(place.work)] === String(id)
}

/** Rejects where the checkpoint can no longer be opened, or the analysis is gone. */
export async function openAnalysis({ id, kind, model }: AnalysisSummary): Promise<void> {
  const { tab, work, tool = {} } = PLACES[kind]
  const detail = await queryClient.fetchQuery({
    queryKey: ['analysis', id],
    queryFn: () => analysesApi.one(id),
  })
  const { model: open, run } = getSelection()
  // A comparison names its own two: any open checkpoint will do beside them.
  if (open === null || (kind !== 'compare' && open !== model)) {
    // The prompt stays, as when a checkpoint is opened from the library.
    const text = queryClient.getQueryData<RunDetail>(['run', run])?.text
    await openCheckpoint(model, text != null ? { text } : undefined)
  }
  forgetWork(work)
  const pair = detail.kind === 'compare' ? { a: detail.request.a, b: detail.request.b } : {}
  const settings = { ...getSelection().tool, ...tool, ...pair, [resultTool(work)]: String(id) }
  select({ tab, tool: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== '')) })
}
