/**
 * The workspace as the server reads it: core/store in the words of contract.ts. In: the database's path. Out: plain
 * data, and blobs as they lie there. Only the first item of a run is shown: the app runs one prompt at a time.
 */
import type { TokenView } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { attentionHook } from '../graph/hook-names.ts'
import { openStore } from '../store/capture-store.ts'
import { bytesPerWeight, rowLength, rowStart } from '../store/codec.ts'
import type { ExperimentRow } from '../store/experiments.ts'
import { stackOf } from '../store/sequences.ts'
import { closeQueries, query } from '../store/sql.ts'
import type { PatternBytes, RunSummary, StoredItem } from '../store/types.ts'
import { ANALYSIS_KINDS, type AnalysisRecord, replyFrom } from './analysis-record.ts'
import type { ExperimentPlan } from './compute/experiments.ts'
import type { AnalysisPlan } from './compute/keep-analysis.ts'
import type {
  AnalysisDetail,
  AnalysisKind,
  AnalysisSummary,
  EditStackDetail,
  EditStackSummary,
  ExperimentKind,
  ExperimentSummary,
  SpecSummary,
  StoredRun,
} from './contract.ts'
import { EDITS_KIND, type EditStackPlan } from './edit-plan.ts'
import type { WorkspaceExperiment, WorkspaceReads } from './workspace.ts'

/** Opens an existing workspace for reading. Throws not-found or bad-store. */
export function openWorkspace(path: string): WorkspaceReads {
  const store = openStore(path, { readonly: true })
  /** Whether a run's decoder read a text with an encoder. */
  const readsText = (id: number) =>
    store.hooks(id).some((hook) => hook.startsWith('decoder.') && hook.endsWith('hook_pattern'))
  return {
    prompts: () => store.listPrompts(),
    runs: () => store.listRuns().map(summary),
    run(id) {
      const run = store.run(id)
      const item = run.itemList[0]
      if (!item)
        throw new HeadscopeError('bad-store', `Run ${id} holds no prompt; delete it and run it again.`)
      return {
        ...summary(run),
        provenance: run.provenance,
        spec: run.spec as SpecSummary,
        views: views(item),
        ...(item.source ? { source: views(item.source), decoderText: item.text } : {}),
        positions: item.positions,
        loss: item.loss,
        hooks: run.hooks,
      }
    },
    pattern(id, layer, head, of) {
      const kind = of ?? (readsText(id) ? 'decoder' : null)
      const where = kind ? attentionHook(kind, layer, 'hook_pattern') : layer
      const stored = store.patternBytes(id, 0, where, head)
      const { shape, dtype } = stored
      if (stored.codec === 'band') return { bytes: triangle(stored), shape, dtype, codec: 'tri' }
      return { bytes: own(stored.bytes), shape, dtype, codec: stored.codec }
    },
    thumbnails(id, of) {
      const kind = of ?? (readsText(id) ? 'decoder' : null)
      const hook = kind ? stackOf(attentionHook(kind, 0, 'hook_pattern')) : undefined
      const { layers, heads, side, data } = store.thumbnails(id, 0, hook)
      return { bytes: own(data), shape: [layers.length, heads, side, side], dtype: 'u8', codec: 'full' }
    },
    residual(id, hook) {
      const { data, shape } = store.residual(id, 0, hook)
      return {
        bytes: own(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
        shape,
        dtype: 'f32',
        codec: 'full',
      }
    },
    newestScan(contentHash) {
      const scan = store.latestScan(contentHash)
      if (!scan) return null
      const { definitions, settings, heads, ofModel, loss, warnings } = scan
      return { definitions, settings, heads, ...(ofModel ? { ofModel } : {}), loss, warnings }
    },
    edgesAt: (id, place) => store.edgesAt(id, 0, place),
    search: (edges) => store.searchEdges(edges),
    experiments: () => store.listExperiments(KINDS).map(experimentSummary),
    experiment(id) {
      const found = store.experiment(id)
      const kind = KINDS.find((one) => one === found.kind)
      if (!kind) throw new HeadscopeError('not-found', `Experiment ${id} is a ${found.kind}, not a sweep.`)
      const { request, prompts } = found.plan as ExperimentPlan
      const cellList = found.cellList.map(({ value }) => value)
      return {
        ...experimentSummary(found),
        request,
        prompts,
        cellList,
        result: found.result,
      } as WorkspaceExperiment
    },
    analyses: () => store.listExperiments(ANALYSIS_KINDS).map(analysisSummary),
    analysis(id) {
      const found = store.experiment(id)
      const kind = ANALYSIS_KINDS.find((one) => one === found.kind)
      if (!kind)
        throw new HeadscopeError(
          'not-found',
          `Experiment ${id} is a ${found.kind}, not an analysis of texts, a comparison or a series.`,
        )
      const plan = found.plan as AnalysisPlan
      const record = { cells: found.cellList, result: found.result as AnalysisRecord['result'] }
      return {
        ...analysisSummary(found),
        ...plan,
        reply: replyFrom(kind, id, record),
      } as AnalysisDetail
    },
    editStacks: () => store.listExperiments([EDITS_KIND]).map(editStackSummary),
    editStack(id) {
      const found = store.experiment(id)
      if (found.kind !== EDITS_KIND)
        throw new HeadscopeError('not-found', `Experiment ${id} is a ${found.kind}, not a stack of edits.`)
      const plan = found.plan as EditStackPlan
      return { ...editStackSummary(found), ...plan, reply: found.result as EditStackDetail['reply'] }
    },
    headNotes: (contentHash) => store.headNotes(contentHash),
    figures: () => store.figures(),
    figure: (id) => store.figure(id),
    use: () => ({ path, ...store.use() }),
    sql: (text, signal) => query(path, text, signal ? { signal } : {}),
    close() {
      closeQueries()
      store.close()
    },
  }
}

const KINDS: readonly ExperimentKind[] = ['ablate', 'patch', 'path', 'attribute']

function experimentSummary(row: ExperimentRow): ExperimentSummary {
  const { id, kind, name, model, modelName, created, cells, done, complete } = row
  const title = name ?? kind
  return { id, kind: kind as ExperimentKind, title, model, modelName, created, cells, done, complete }
}

function editStackSummary({ id, name, model, modelName, created, cells }: ExperimentRow): EditStackSummary {
  return { id, name: name ?? '', model, modelName, created, edits: cells }
}

function analysisSummary(row: ExperimentRow): AnalysisSummary {
  const { id, kind, model, modelName, contentHash, name, created } = row
  return { id, kind: kind as AnalysisKind, model, modelName, contentHash, title: name ?? kind, created }
}

function summary({ contentHash: _, items: __, ...run }: RunSummary): StoredRun {
  return run
}

/** As they were when the run was made; a run without a tokenizer shows its numbers. */
function views({ tokens, ids }: Pick<StoredItem, 'tokens' | 'ids'>): readonly TokenView[] {
  return tokens ?? ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}

function own(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

/** The rows of a band with the zeros that were left out, as a lower triangle: a client knows two layouts, not three. */
function triangle(stored: PatternBytes): Uint8Array<ArrayBuffer> {
  const size = bytesPerWeight(stored.dtype)
  const out = new Uint8Array(((stored.queries * (stored.queries + 1)) / 2) * size)
  let from = 0
  for (let query = 0, row = 0; query < stored.queries; query++, row += query * size) {
    const length = rowLength(stored, query) * size
    out.set(stored.bytes.subarray(from, from + length), row + rowStart(stored, query) * size)
    from += length
  }
  return out
}
