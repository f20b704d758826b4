/**
 * A workspace: one SQLite file that keeps checkpoints, prompts, runs with their captures, and scores.
 * In: what the engine computes. Out: the same, later, in any process. Rules: SPEC.md.
 * A Store is used from one thread; other threads and processes open their own on the same path.
 */
import type Database from 'better-sqlite3'
import type { HeadScores, ScanResult } from '../analysis/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Run } from '../run/types.ts'
import { type CleanRun, cleanRuns } from './clean-runs.ts'
import type { StoredDtype } from './codec.ts'
import { type ConnectOptions, connect } from './connect.ts'
import { type EdgePlace, type EdgesAt, edgesAt } from './edges-at.ts'
import { type Experiments, experimentTable } from './experiments.ts'
import { type Figures, figureTable } from './figures.ts'
import { keepScoresOnly, type StoreUse, storeUse } from './housekeeping.ts'
import { type Notes, noteTable } from './notes.ts'
import { guarded } from './problem.ts'
import { keepCheckpoint, promptTable } from './prompts.ts'
import { beginRun, deleteRun } from './run-writer.ts'
import { type RunReads, runReads } from './runs.ts'
import { latestScan, saveScan, scoresOf } from './scans.ts'
import { searchEdges } from './search.ts'
import type * as T from './types.ts'
import { isAlive } from './writer-process.ts'

export interface Store extends RunReads, Experiments, Notes, Figures {
  readonly path: string
  readonly readonly: boolean
  /** Begins a run that takes captures as they stream in. */
  beginRun(info: T.RunInfo): T.RunWriter
  /** Keeps a whole run; its id. `extra` has what the run itself does not know: texts, token views, the hash. */
  save(run: Run, extra?: SaveExtra): number
  searchEdges(query: T.EdgeQuery): T.EdgeSearch
  /** Heads of an item with an edge at a place, strongest first. */
  edgesAt(run: number, item: number, place: EdgePlace): EdgesAt
  saveCheckpoint(checkpoint: T.CheckpointInput): void
  checkpoints(): T.StoredCheckpoint[]
  /** Names the checkpoint of a run that was kept before its hash was known. */
  identify(run: number, contentHash: string): void
  saveScan(checkpoint: T.CheckpointInput, scan: ScanResult): number
  latestScan(contentHash: string): T.StoredScan | null
  /** Head scores of an experiment; empty where it has none. */
  scores(experiment: number): HeadScores[]
  /** Newest first. */
  listPrompts(): T.StoredPromptRow[]
  savePrompt(prompt: T.SequenceInput, tokenizerHash?: string): number
  /** Refused while a run uses it. */
  deletePrompt(id: number): void
  /** Complete, unedited runs of single prompts on a checkpoint, with their patterns: these need not run again. */
  cleanRuns(contentHash: string): CleanRun[]
  deleteRun(id: number): void
  /** Drops a run's captures and keeps its provenance, losses and predictions; the bytes freed. */
  keepScoresOnly(id: number): number
  /** What the workspace holds and costs. */
  use(): StoreUse
  /** Gives the room of what was deleted back to the disk. Takes seconds per GB; nobody else may write meanwhile. */
  compact(): void
  /** Bytes of the whole workspace on disk. */
  totalBytes(): number
  /** Runs that are being written are aborted. */
  close(): void
}

export interface SaveExtra {
  readonly items?: readonly Omit<T.ItemInput, 'ids'>[]
  readonly spec?: unknown
  readonly config?: unknown
  readonly tokenizerHash?: string
  readonly contentHash?: string
  readonly dtype?: StoredDtype
}

/** How long after the last write the log is copied into the file, in ms. */
const IDLE = 1000

/**
 * Opens the workspace at `path`, and makes it unless `readonly`. For writing it first removes runs whose writer died.
 * Throws `bad-store` (not ours, newer, damaged, not writable) or `not-found`; such a file is left untouched.
 */
export function openStore(path: string, options: ConnectOptions = {}): Store {
  const db = connect(path, options)
  const prompts = promptTable(db)
  const reads = runReads(db, prompts)
  const experiments = experimentTable(db)
  const notes = noteTable(db)
  const figures = figureTable(db)
  const writers = new Set<T.RunWriter>()
  let idle: NodeJS.Timeout | undefined

  /** Guards a write: refused on a read-only store, errors as sentences, the log copied when things are quiet. */
  function writing<R>(work: () => R): R {
    if (options.readonly)
      throw new HeadscopeError(
        'bad-store',
        `${path} was opened for reading only; open it for writing to change it.`,
      )
    clearTimeout(idle)
    idle = setTimeout(() => copyLog(db), IDLE)
    idle.unref()
    return guarded(path, work)
  }

  function begin(info: T.RunInfo): T.RunWriter {
    const writer = writing(() => beginRun(db, path, prompts, info))
    const tracked: T.RunWriter = {
      id: writer.id,
      write: (hook, tensor) => writing(() => writer.write(hook, tensor)),
      complete: (outcome) =>
        writing(() => {
          writers.delete(tracked)
          return writer.complete(outcome)
        }),
      abort: () => {
        writers.delete(tracked)
        writing(() => writer.abort())
      },
    }
    writers.add(tracked)
    return tracked
  }

  function save(run: Run, extra: SaveExtra = {}): number {
    const { items, contentHash, ...info } = extra
    const writer = begin({
      ...info,
      provenance: run.provenance,
      warnings: run.warnings,
      items: run.items.map((item, i) => ({
        ...(item.source ? { source: { ids: item.source } } : {}),
        ...items?.[i],
        ids: item.ids,
      })),
    })
    try {
      for (const hook of run.captured) writer.write(hook, run.get(hook))
      return writer.complete({ items: run.items, ...(contentHash === undefined ? {} : { contentHash }) })
    } catch (error) {
      writer.abort()
      throw error
    }
  }

  function identify(run: number, contentHash: string): void {
    const { provenance, spec } = reads.run(run)
    const checkpoint = {
      contentHash,
      path: provenance.modelPath,
      name: provenance.modelName,
      family: provenance.family,
    }
    db.transaction(() => {
      const id = keepCheckpoint(db, spec === null ? checkpoint : { ...checkpoint, spec })
      const json = JSON.stringify({ ...provenance, contentHash })
      db.prepare('UPDATE run SET checkpoint = ?, provenance = ? WHERE id = ?').run(id, json, run)
    }).immediate()
  }

  function deletePrompt(id: number): void {
    const used = db
      .prepare('SELECT count(DISTINCT run) FROM run_item WHERE prompt = ?')
      .pluck()
      .get(id) as number
    if (used > 0)
      throw new HeadscopeError('in-use', `Prompt ${id} is used by ${used} runs; delete these first.`)
    if (db.prepare('DELETE FROM prompt WHERE id = ?').run(id).changes === 0)
      throw new HeadscopeError('not-found', `Prompt ${id} is not in this workspace.`)
  }

  function remove(id: number): void {
    if (!deleteRun(db, id)) throw new HeadscopeError('not-found', `Run ${id} is not in this workspace.`)
  }

  function compact(): void {
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
  }

  function close(): void {
    clearTimeout(idle)
    if (!db.open) return
    for (const writer of [...writers]) writer.abort()
    clearTimeout(idle)
    db.close()
  }

  if (!options.readonly) guarded(path, () => removeDeadRuns(db))
  return {
    ...mapReads(reads, path),
    path,
    readonly: options.readonly ?? false,
    beginRun: begin,
    save,
    searchEdges: (query) => guarded(path, () => searchEdges(db, query)),
    edgesAt: (run, item, place) => guarded(path, () => edgesAt(db, run, item, place)),
    saveCheckpoint: (checkpoint) =>
      void writing(() => db.transaction(() => keepCheckpoint(db, checkpoint)).immediate()),
    checkpoints: () => guarded(path, () => listCheckpoints(db)),
    identify: (run, contentHash) => writing(() => identify(run, contentHash)),
    saveScan: (checkpoint, scan) => writing(() => saveScan(db, checkpoint, scan)),
    saveExperiment: (input) => writing(() => experiments.saveExperiment(input)),
    appendCells: (id, cells) => writing(() => experiments.appendCells(id, cells)),
    completeExperiment: (id, result) => writing(() => experiments.completeExperiment(id, result)),
    keepExperiment: (input) => writing(() => experiments.keepExperiment(input)),
    listExperiments: (kinds) => guarded(path, () => experiments.listExperiments(kinds)),
    experiment: (id) => guarded(path, () => experiments.experiment(id)),
    deleteExperiment: (id) => writing(() => experiments.deleteExperiment(id)),
    headNotes: (contentHash) => guarded(path, () => notes.headNotes(contentHash)),
    saveHeadNote: (checkpoint, note) => writing(() => notes.saveHeadNote(checkpoint, note)),
    pinFigure: (figure) => writing(() => figures.pinFigure(figure)),
    figures: () => guarded(path, figures.figures),
    figure: (id) => guarded(path, () => figures.figure(id)),
    noteFigure: (id, text) => writing(() => figures.noteFigure(id, text)),
    orderFigures: (ids) => writing(() => figures.orderFigures(ids)),
    deleteFigure: (id) => writing(() => figures.deleteFigure(id)),
    latestScan: (contentHash) => guarded(path, () => latestScan(db, contentHash)),
    scores: (experiment) => guarded(path, () => scoresOf(db, experiment)),
    listPrompts: () => guarded(path, prompts.list),
    savePrompt: (prompt, tokenizerHash) =>
      writing(() => db.transaction(() => prompts.keep(prompt, tokenizerHash ?? null)).immediate()),
    cleanRuns: (contentHash) => guarded(path, () => cleanRuns(db, contentHash)),
    deletePrompt: (id) => writing(() => deletePrompt(id)),
    deleteRun: (id) => writing(() => remove(id)),
    keepScoresOnly: (id) => writing(() => keepScoresOnly(db, id)),
    use: () => guarded(path, () => storeUse(db, path)),
    compact: () => writing(compact),
    totalBytes: () =>
      guarded(
        path,
        () =>
          Number(db.pragma('page_count', { simple: true })) *
          Number(db.pragma('page_size', { simple: true })),
      ),
    close,
  }
}

// --- Internal helpers ---

/** Every read with SQLite's errors as sentences. */
function mapReads(reads: RunReads, path: string): RunReads {
  const guard =
    <A extends unknown[], R>(read: (...args: A) => R) =>
    (...args: A): R =>
      guarded(path, () => read(...args))
  return {
    listRuns: guard(reads.listRuns),
    run: guard(reads.run),
    runBytes: guard(reads.runBytes),
    hooks: guard(reads.hooks),
    patternBytes: guard(reads.patternBytes),
    pattern: guard(reads.pattern),
    tensor: guard(reads.tensor),
    residual: guard(reads.residual),
    thumbnails: guard(reads.thumbnails),
  }
}

/** Incomplete runs whose writer is gone: they can never become whole. */
function removeDeadRuns(db: Database.Database): void {
  const open = db
    .prepare<
      [],
      { id: number; created: string; writer_host: string; writer_pid: number; writer_start: string }
    >('SELECT id, created, writer_host, writer_pid, writer_start FROM run WHERE complete = 0')
    .all()
  for (const row of open) {
    const writer = { host: row.writer_host, pid: row.writer_pid, start: row.writer_start }
    if (!isAlive(writer, row.created)) deleteRun(db, row.id)
  }
}

function listCheckpoints(db: Database.Database): T.StoredCheckpoint[] {
  return db
    .prepare<
      [],
      Record<'content_hash' | 'path' | 'name' | 'family' | 'created', string> & { spec: string | null }
    >('SELECT content_hash, path, name, family, spec, created FROM checkpoint ORDER BY id')
    .all()
    .map(({ content_hash, spec, ...row }) => ({
      ...row,
      contentHash: content_hash,
      spec: spec === null ? null : JSON.parse(spec),
    }))
}

/** Copies the log into the file as far as no reader needs it. Failing is no loss: the next write or close tries again. */
function copyLog(db: Database.Database): void {
  if (!db.open) return
  try {
    db.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // The log stays, whole.
  }
}
