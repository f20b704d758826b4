/**
 * The members of a series that `headscope scan` has read, as the app keeps them. In: scans in the order of the steps,
 * and the members that are broken. Out: one experiment in the workspace, its fields of the JSON document, and lines that
 * say when heads appear. Costs nothing beside the scans.
 */
import { basename, dirname } from 'node:path'
import type { ScanResult, Score } from '../analysis/types.ts'
import type { WorkspaceWrites } from '../api/compute/workspace-writes.ts'
import type { AnalysedModel } from '../api/contract-analyses.ts'
import type { SeriesRequest } from '../api/contract-heads.ts'
import type { BrokenMember, Onset, Series } from '../compare/index.ts'
import { headName } from '../graph/hook-names.ts'
import type { Chosen } from './models.ts'
import type { Output } from './output.ts'

/** One member, scanned. */
export interface ScannedMember {
  readonly chosen: Chosen
  readonly analysed: AnalysedModel
  readonly result: ScanResult
}

/**
 * True when the chosen checkpoints are all the members of one series, in their order: the series itself was named, or
 * each of its steps. Models of other names that happen to share a folder are none.
 */
export async function isWholeSeries(models: readonly Chosen[]): Promise<boolean> {
  const stems = models.map(({ path }) => basename(path).replace(/\d+/g, '#'))
  if (models.some(({ at }) => at === null) && new Set(stems).size > 1) return false
  const { listMembers } = await import('../checkpoint/series.ts')
  const members = models.length < 2 ? [] : listMembers(dirname(models[0]!.path))
  return members.length === models.length && members.every(({ path }, i) => path === models[i]!.path)
}

/** Onsets and the fall of the loss. Throws bad-checkpoint when no member is whole. */
export async function seriesFrom(
  scanned: readonly ScannedMember[],
  broken: readonly BrokenMember[],
  threshold: number | undefined,
): Promise<Series> {
  const { seriesOf, seriesStep } = await import('../compare/index.ts')
  const steps = scanned.map(({ chosen, analysed, result }, i) =>
    seriesStep({ at: atOf(chosen), path: chosen.path }, i, analysed.contentHash, result),
  )
  const warnings = scanned.flatMap(({ chosen, result }) =>
    result.warnings.map((warning) => `${atOf(chosen)}: ${warning}`),
  )
  return seriesOf(steps, broken, scanned[0]?.result ?? null, {
    warnings: [...new Set(warnings)],
    ...(threshold === undefined ? {} : { threshold }),
  })
}

/** Keeps it as the app does, the last step as its owner; the number in the workspace. */
export async function keepSeries(
  { experiments }: Pick<WorkspaceWrites, 'experiments'>,
  scanned: readonly ScannedMember[],
  series: Series,
  settings: Omit<SeriesRequest, 'model'>,
): Promise<number> {
  const { keepAnalysis } = await import('../api/compute/keep-analysis.ts')
  const [last, ...before] = scanned.map(({ analysed }) => analysed).reverse()
  const request = { ...settings, model: dirname(last!.path) }
  return keepAnalysis(experiments, 'series', [last!, ...before], request, series)
}

/** When the best head of each score passes the threshold, and where the loss falls. */
export function reportSeries(out: Output, { onsets, lossDrop }: Pick<Series, 'onsets' | 'lossDrop'>): void {
  out.line()
  for (const onset of onsets) out.line(onsetLine(out, onset))
  if (lossDrop && lossDrop.nats > 0)
    out.line(
      `${out.style.dim('loss on the second copy')} falls most, by ${lossDrop.nats.toFixed(2)} nats, from ${lossDrop.from} to ${lossDrop.to}`,
    )
}

/** What a step is called: its name in the series, else its path. */
export function atOf({ at, path }: Chosen): string {
  return at ?? (path.split(/[\\/]/).filter(Boolean).at(-1) || path)
}

// --- Internal helpers ---

function onsetLine({ style }: Output, onset: Onset): string {
  const { score, threshold, at, after, head, value, earliest, latest, why } = onset
  const title = style.dim(score.replaceAll('_', ' '))
  if (at === null || !head || !value) return `${title} – ${why ?? `no step reaches ${threshold}`}`
  const allowed =
    earliest !== null && (earliest !== at || latest !== at)
      ? `; its intervals allow ${earliest} to ${latest ?? 'none of these steps'}`
      : ''
  const since = after === null ? 'already at the first step' : `after ${after}`
  return `${title} ${headName(head.layer, head.head)} passes ${threshold} at ${at} (${since}) with ${scoreText(value)}${allowed}`
}

function scoreText({ value, low, high }: Score): string {
  const interval = low === null || high === null ? '' : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`
  return `${value!.toFixed(2)}${interval}`
}
