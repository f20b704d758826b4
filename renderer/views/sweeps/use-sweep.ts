/**
 * The sweep that a pane shows: the one that runs, else the stored one that was chosen. In: a kind and the chosen number as
 * the address has it. Out: its request, its cells so far and how it stands; null where there is none.
 */
import type {
  ExperimentDetail,
  ExperimentKind,
  ExperimentSummary,
  Experiments,
  OpenedModel,
} from '../../../core/api/contract.ts'
import { useExperiment, useLiveSweep } from '../../api/experiments.ts'
import { useSameWeights } from './same-weights.ts'

export interface ShownSweep<K extends ExperimentKind> {
  readonly kind: K
  /** The stored sweep; null until it has begun. */
  readonly id: number | null
  /** The checkpoint that it is of: its path and its name. */
  readonly model: string
  readonly modelName: string
  /** Whether that is what is open. */
  readonly here: boolean
  /** Its entry in the workspace, so that it can be opened where it belongs; null until it has ended. */
  readonly stored: ExperimentSummary | null
  readonly request: Experiments[K]['request']
  readonly cells: readonly Experiments[K]['cell'][]
  /** What is known at the end only; null before it. */
  readonly result: ExperimentDetail<K>['result']
  readonly prompts: ExperimentDetail<K>['prompts']
  readonly planned: number
  readonly running: boolean
  /** Why it stopped, where nobody stopped it. */
  readonly problem: string | null
  readonly warnings: readonly string[]
}

/** A sweep that runs on another checkpoint than the open one does not stand before the chosen one. */
export function useSweep<K extends ExperimentKind>(
  kind: K,
  chosen: string,
  open: OpenedModel,
): ShownSweep<K> | null {
  const live = useLiveSweep(kind)
  const id = /^\d+$/.test(chosen) ? Number(chosen) : null
  const runsHere = live?.state === 'running' && live.request.model === open.path
  // One that was refused before it began is none: whoever started it says why.
  const isChosen = live !== undefined && live.experiment !== null && live.experiment === id
  const ofLive = isChosen || runsHere ? live : null
  const running = ofLive?.state === 'running'
  const stored = useExperiment(kind, running ? null : id).data as ExperimentDetail<K> | null | undefined
  const request = ofLive?.request ?? (stored?.request as Experiments[K]['request'] | undefined)
  const same = useSameWeights(open, request ? [request.model] : [])
  if (!request) return null
  const kept = stored?.cellList as readonly Experiments[K]['cell'][] | undefined
  const cells = (running ? ofLive.cells : (kept ?? ofLive?.cells)) ?? []
  return {
    kind,
    id: ofLive?.experiment ?? stored?.id ?? null,
    model: request.model,
    modelName: stored?.modelName ?? request.model,
    here: same.has(request.model),
    stored: stored ?? null,
    request,
    cells,
    result: (stored?.result ?? null) as ExperimentDetail<K>['result'],
    prompts: stored?.prompts ?? [],
    planned: ofLive?.estimate?.cells ?? stored?.cells ?? cells.length,
    running,
    problem: ofLive?.state === 'stopped' && ofLive.problem !== 'Cancelled.' ? ofLive.problem : null,
    warnings: stored?.result?.warnings ?? [],
  }
}
