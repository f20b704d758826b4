/**
 * What the compute worker needs of the engine, as types: the worker passes in the real thing (core/index.ts), tests
 * something small. Only what is used here is named.
 */
import type { ScanResult } from '../../analysis/types.ts'
import type { Checkpoint, ContentHash, Progress, Tokenizer } from '../../checkpoint/types.ts'
import type { Edit, Run, RunOptions } from '../../run/types.ts'
import type { SpecSummary } from '../contract.ts'

export interface EngineModel {
  readonly path: string
  readonly name: string
  readonly checkpoint: Pick<Checkpoint, 'tokenizerProblem'>
  readonly tokenizer: Tokenizer | null
  readonly warnings: readonly string[]
  readonly hooks: readonly { readonly name: string; readonly shape: readonly (string | number)[] }[]
  readonly parameters: { readonly total: number }
  encode(text: string, options?: { bos?: 'auto' | 'yes' | 'no' }): number[]
  contentHash(): Promise<ContentHash>
  run(ids: number[] | number[][], options?: RunOptions): Promise<Run>
  generate(
    ids: number[],
    options: { max: number; edits?: readonly Edit[]; signal?: AbortSignal },
  ): Promise<{ readonly ids: readonly number[] }>
  close(): Promise<void>
}

export interface EngineScanOptions {
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  readonly onProgress?: (progress: Progress) => void
  readonly signal?: AbortSignal
}

export interface Engine<M extends EngineModel = EngineModel> {
  openModel(path: string, options: { threads?: number; cacheDir?: string }): Promise<M>
  scanHeads(model: M, options: EngineScanOptions): Promise<ScanResult>
  summary(model: M): SpecSummary
  repeatPairs(ids: readonly number[]): { query: number; source: number; target: number }[]
}

/** What the worker asks of the workspace: it alone writes. */
export interface WorkspaceWrites<M extends EngineModel = EngineModel> {
  /**
   * Stores the run that `compute` makes, each capture as it arrives; returns its number. When `compute` fails, nothing
   * of it stays.
   */
  storeRun(
    model: M,
    prompt: { readonly ids: readonly number[]; readonly text: string | null },
    compute: (onCapture: NonNullable<RunOptions['onCapture']>) => Promise<Run>,
  ): Promise<number>
  storeScan(model: M, result: ScanResult): Promise<void>
  /** Token ids and every pattern of a run, as float16 or float32 bits. Throws not-found. */
  patternsOf(run: number): { readonly ids: readonly number[]; readonly heads: Iterable<StoredHead> }
  close(): void
}

/** One head's weights by place: row = query, column = key. */
export interface StoredHead {
  readonly layer: number
  readonly head: number
  readonly at: (query: number, key: number) => number
}
