/**
 * A sweep that is kept while it runs. In: a request, an open model, a workspace or none. Out: the experiment's number
 * and result; its cells are stored in batches as they come, so that what is done outlives a cancel or a crash.
 */
import type { Progress, TokenView } from '../../checkpoint/types.ts'
import { HeadscopeError, isCancelled } from '../../errors.ts'
import type { SweepEstimate } from '../../intervene/types.ts'
import { versions } from '../../run/versions.ts'
import type { ExperimentKind, Experiments, PromptInput } from '../contract.ts'
import { sweepTitle } from '../sweep-title.ts'
import type { Engine, EngineModel } from './engine.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** What an experiment's plan holds in the store. */
export interface ExperimentPlan<K extends ExperimentKind = ExperimentKind> {
  readonly request: Experiments[K]['request']
  readonly prompts: readonly (readonly TokenView[])[]
  readonly versions: typeof versions
}

export interface ExperimentCall<K extends ExperimentKind> {
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
  /** `id` is null without a workspace. */
  readonly onBegun?: (id: number | null, estimate: SweepEstimate | null) => void
  readonly onCells?: (cells: readonly Experiments[K]['cell'][]) => void
  readonly encode: (prompt: PromptInput) => number[]
  /** The decoder's own ids of a prompt, where a decoder reads an encoder; else null. */
  readonly own?: (prompt: PromptInput) => number[] | null
  readonly view: (ids: readonly number[]) => readonly TokenView[]
  /** How a cell is told from the others. */
  readonly keyOf: (kind: K, cell: Experiments[K]['cell']) => string
}

export interface ExperimentDone<K extends ExperimentKind> {
  readonly id: number | null
  readonly request: Experiments[K]['request']
  readonly prompts: readonly (readonly TokenView[])[]
  readonly result: Experiments[K]['result']
}

/** Runs and keeps a sweep; with `resume`, the stored request counts. Throws what the sweep throws. */
export async function runExperiment<M extends EngineModel, K extends ExperimentKind>(
  engine: Pick<Engine<M>, 'intervene' | 'summary'>,
  model: M,
  kind: K,
  given: Experiments[K]['request'],
  workspace: WorkspaceWrites | null,
  call: ExperimentCall<K>,
): Promise<ExperimentDone<K>> {
  const { hash } = await model.contentHash()
  const stored = given.resume === undefined ? null : openStored(workspace, kind, given.resume, hash)
  const { resume: _, ...asked } = stored?.request ?? given
  const request = asked as Experiments[K]['request']
  const inputs = promptsOf(request)
  const ids = inputs.map(call.encode)
  // A sweep goes over the decoder, so its positions are those of the decoder's text.
  const prompts = inputs.map((prompt, i) => call.view(call.own?.(prompt) ?? ids[i]!))
  let id = stored?.id ?? null
  let begun = false
  const begin = (estimate: SweepEstimate | null): void => {
    if (begun) return
    begun = true
    if (id === null && workspace) {
      const plan: ExperimentPlan<K> = { request, prompts, versions }
      const spec = engine.summary(model)
      const checkpoint = { contentHash: hash, path: model.path, name: model.name, family: spec.family, spec }
      const name = sweepTitle(kind, request)
      id = workspace.experiments.saveExperiment({ kind, checkpoint, plan, cells: estimate?.cells ?? 0, name })
    }
    call.onBegun?.(id, estimate)
    if (stored && stored.cells.length > 0) call.onCells?.(stored.cells)
  }
  const keep = (cells: readonly Experiments[K]['cell'][]): void => {
    begin(null)
    if (id !== null)
      workspace!.experiments.appendCells(
        id,
        cells.map((cell) => ({ key: call.keyOf(kind, cell), value: cell })),
      )
    call.onCells?.(cells)
  }
  try {
    const result = await engine.intervene(model, kind, request, {
      ids,
      reference: ('reference' in request ? (request.reference ?? []) : []).map(call.encode),
      known: stored?.cells ?? [],
      signal: call.signal,
      onProgress: call.onProgress,
      onEstimate: begin,
      onCells: (cells) => keep(cells as readonly Experiments[K]['cell'][]),
    })
    begin(null)
    if (id !== null) {
      const { cells: _cells, ...rest } = result
      workspace!.experiments.completeExperiment(id, rest)
    }
    return { id, request, prompts, result }
  } catch (error) {
    // A sweep that broke before its first cell leaves nothing; one that was cancelled can go on.
    if (id !== null && !stored && !isCancelled(error) && workspace!.experiments.experiment(id).done === 0)
      workspace!.experiments.deleteExperiment(id)
    throw error
  }
}

// --- Internal helpers ---

function promptsOf(request: Experiments[ExperimentKind]['request']): PromptInput[] {
  return 'prompt' in request ? [request.prompt] : [request.clean, request.corrupt]
}

function openStored<K extends ExperimentKind>(
  workspace: WorkspaceWrites | null,
  kind: K,
  id: number,
  contentHash: string,
) {
  if (!workspace)
    throw new HeadscopeError(
      'bad-request',
      `Experiment ${id} is in a workspace, so it can only go on with one; name it with --store.`,
    )
  const found = workspace.experiments.experiment(id)
  if (found.kind !== kind)
    throw new HeadscopeError('bad-request', `Experiment ${id} is of the kind ${found.kind}, not ${kind}.`)
  if (found.contentHash !== contentHash)
    throw new HeadscopeError(
      'bad-request',
      `Experiment ${id} was made with other weights (${found.modelName}); go on with that checkpoint.`,
    )
  const plan = found.plan as ExperimentPlan<K>
  return {
    id,
    request: plan.request,
    cells: found.cellList.map(({ value }) => value as Experiments[K]['cell']),
  }
}
