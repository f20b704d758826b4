/**
 * The workspace as the compute worker writes it. In: a store that is open for writing. Out: runs stored block by block,
 * scans, and the stored weights of a run by place.
 */
import type { ScanResult } from '../../analysis/types.ts'
import type { Run, RunOptions } from '../../run/types.ts'
import type { Store } from '../../store/capture-store.ts'
import { bytesPerWeight, rowLength, rowStart } from '../../store/codec.ts'
import { fromHalfBits } from '../../store/edges.ts'
import type { Experiments } from '../../store/experiments.ts'
import type { PatternBytes, RunInfo } from '../../store/types.ts'
import type { SpecSummary } from '../contract.ts'
import type { EngineModel } from './engine.ts'

/** One head's weights by place: row = query, column = key. */
export interface StoredHead {
  readonly layer: number
  readonly head: number
  readonly at: (query: number, key: number) => number
}

export interface WorkspaceWrites {
  /**
   * Stores the run that `compute` makes, each capture as it arrives, and names its checkpoint by the content hash;
   * returns its number. When anything fails, nothing of it stays.
   */
  storeRun(
    model: EngineModel,
    plan: RunInfo,
    compute: (onCapture: NonNullable<RunOptions['onCapture']>) => Promise<Run>,
  ): Promise<number>
  storeScan(model: EngineModel, spec: SpecSummary, result: ScanResult): Promise<void>
  /** The newest scan of the checkpoint with these weights, or null. */
  readonly latestScan: Store['latestScan']
  /** Runs that need not be made again. */
  readonly cleanRuns: Store['cleanRuns']
  deleteRun(run: number): void
  /** Drops a run's captures; the bytes freed. */
  keepScoresOnly(run: number): number
  /** Bytes before and after. */
  compact(): { readonly before: number; readonly after: number }
  /** Sweeps, cell by cell. */
  readonly experiments: Experiments
  /** A stored capture of a run's first item, as edits `from: {run}` read it: [1, …]. Throws not-found. */
  readonly openRun: NonNullable<RunOptions['openRun']>
  /** Token ids of a run and, one after the other, the patterns of its heads. Throws not-found. */
  patternsOf(run: number): { readonly ids: readonly number[]; readonly heads: Iterable<StoredHead> }
  close(): void
}

/** The writing side over `store`, which it closes in the end. */
export function workspaceWrites(store: Store): WorkspaceWrites {
  return {
    async storeRun(model, plan, compute) {
      const hash = model.contentHash()
      hash.catch(() => {}) // heard below; a run that fails first must not leave it unheard
      const writer = store.beginRun(plan)
      try {
        const run = await compute((hook, tensor) => writer.write(hook, tensor))
        const { hash: contentHash } = await hash
        return writer.complete({ items: run.items, contentHash, warnings: run.warnings })
      } catch (error) {
        writer.abort()
        throw error
      }
    },
    async storeScan(model, spec, result) {
      const { hash: contentHash } = await model.contentHash()
      store.saveScan({ contentHash, path: model.path, name: model.name, family: spec.family, spec }, result)
    },
    latestScan: (contentHash) => store.latestScan(contentHash),
    cleanRuns: (contentHash) => store.cleanRuns(contentHash),
    experiments: store,
    deleteRun: (run) => store.deleteRun(run),
    keepScoresOnly: (run) => store.keepScoresOnly(run),
    compact() {
      const before = store.use().bytes
      store.compact()
      return { before, after: store.use().bytes }
    },
    openRun(run, hook) {
      const { data, shape, axes } = store.tensor(run, 0, hook)
      return { data, shape: [1, ...shape], axes: ['batch', ...axes] }
    },
    patternsOf(run) {
      const ids = store.run(run).itemList[0]?.ids ?? []
      const { layers, heads } = store.thumbnails(run, 0)
      return { ids, heads: headsOf(store, run, layers, heads) }
    },
    close: () => store.close(),
  }
}

function* headsOf(store: Store, run: number, layers: readonly number[], heads: number): Iterable<StoredHead> {
  for (const layer of layers) {
    for (let head = 0; head < heads; head++) {
      let at: StoredHead['at'] | null = null // a prompt without repeats reads no pattern at all
      yield {
        layer,
        head,
        at: (query, key) => (at ??= weightsOf(store.patternBytes(run, 0, layer, head)))(query, key),
      }
    }
  }
}

/** Reads single weights where they lie: a few places of a head do not need the whole of it unpacked. */
function weightsOf(stored: PatternBytes): StoredHead['at'] {
  const { bytes, dtype } = stored
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const size = bytesPerWeight(dtype)
  const rows: number[] = [] // where each row begins, in weights
  for (let query = 0, at = 0; query < stored.queries; at += rowLength(stored, query++)) rows.push(at)
  return (query, key) => {
    const column = key - rowStart(stored, query)
    if (column < 0 || column >= rowLength(stored, query)) return 0 // left out because it is exactly 0
    const at = (rows[query]! + column) * size
    return dtype === 'f16' ? fromHalfBits(view.getUint16(at, true)) : view.getFloat32(at, true)
  }
}
