/**
 * What the compute worker needs of the engine, as types: the worker passes in the real thing (core/index.ts), tests
 * something small. Only what is used here is named.
 */
import type { ScanResult } from '../../analysis/types.ts'
import type { Checkpoint, ContentHash, EncodeOptions, Progress, Tokenizer } from '../../checkpoint/types.ts'
import type { SweepEstimate } from '../../intervene/types.ts'
import type { Generated } from '../../run/generate.ts'
import type { Edit, Provenance, Run, RunOptions } from '../../run/types.ts'
import type { ExperimentKind, Experiments, OpenCost, SpecSummary } from '../contract.ts'

export interface EngineModel {
  readonly path: string
  readonly name: string
  readonly checkpoint: Pick<Checkpoint, 'tokenizerProblem' | 'eosIds'>
  readonly tokenizer: Tokenizer | null
  readonly warnings: readonly string[]
  readonly hooks: readonly { readonly name: string; readonly shape: readonly (string | number)[] }[]
  readonly parameters: { readonly total: number }
  encode(text: string, options?: EncodeOptions): number[]
  contentHash(): Promise<ContentHash>
  run(ids: number[] | number[][], options?: RunOptions): Promise<Run>
  generate(
    ids: number[],
    options: {
      max: number
      stopAt?: readonly number[]
      edits?: readonly Edit[]
      decoderIds?: readonly number[]
      signal?: AbortSignal
      temperature?: number
      seed?: number
    },
  ): Promise<Pick<Generated, 'ids' | 'logProbs' | 'stopped' | 'cacheBytes' | 'sourceIds'>>
  close(): Promise<void>
}

export interface EngineScanOptions {
  readonly scores?: readonly string[]
  readonly bos?: boolean
  readonly prompts?: readonly (readonly number[])[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  readonly onProgress?: (progress: Progress) => void
  readonly signal?: AbortSignal
}

/** A sweep's prompts as ids (clean before corrupt), what is known of it, and who hears of it. */
export interface InterveneOptions {
  readonly ids: readonly (readonly number[])[]
  readonly reference: readonly (readonly number[])[]
  readonly known: readonly unknown[]
  readonly signal: AbortSignal
  readonly onProgress: (progress: Progress) => void
  readonly onEstimate: (estimate: SweepEstimate) => void
  readonly onCells: (cells: readonly unknown[]) => void
}

export interface Engine<M extends EngineModel = EngineModel> {
  openModel(path: string, options: { threads?: number; device?: string; cacheDir?: string }): Promise<M>
  /** What opening a checkpoint would write. */
  openCost(path: string, options: { cacheDir?: string }): OpenCost
  readonly cache: {
    use(cacheDir: string | undefined): { readonly path: string; readonly bytes: number }
    clear(cacheDir: string | undefined): void
  }
  /**
   * The decoder's ids where the prompt is its encoder's text: those given, or the start token and the text's tokens.
   * null for models with one text; throws `bad-prompt` when a decoder's text is given there.
   */
  decoderIds(model: M, given: { text?: string; ids?: readonly number[] } | undefined): number[] | null
  scanHeads(model: M, options: EngineScanOptions): Promise<ScanResult>
  intervene<K extends ExperimentKind>(
    model: M,
    kind: K,
    request: Experiments[K]['request'],
    options: InterveneOptions,
  ): Promise<Experiments[K]['result']>
  summary(model: M): SpecSummary
  /** Throws, with the numbers, when a stored run of so many tokens cannot fit memory or disk. */
  requireRoom?(model: M, tokens: number): Promise<void>
  provenance(model: M, capture: readonly string[], edits: readonly Edit[]): Provenance
  repeatPairs(ids: readonly number[]): { query: number; source: number; target: number }[]
}
