/**
 * A training series as one thing: every score at every step. In: the members of a series. Out: scans step by step, the
 * step at which the best head passes a threshold, and where the loss falls. A member that cannot be opened or scanned
 * is named, and the rest goes on. Cost: one scan per member; one model is open at a time.
 */
import { type ScanOptions, scanHeads } from '../analysis/scan.ts'
import type { HeadScores, ScanResult } from '../analysis/types.ts'
import { listMembers, type SeriesMember } from '../checkpoint/index.ts'
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError, isCancelled, sentence } from '../errors.ts'
import { type Model, type OpenOptions, openModel } from '../run/model.ts'
import { type LossDrop, lossDropOf, type Onset, onsetOf } from './onset.ts'

export interface SeriesStep extends SeriesMember {
  /** The number in its name (step512 → 512), or its index. */
  readonly step: number
  /** Of its weights. */
  readonly contentHash: string
  readonly heads: readonly HeadScores[]
  readonly loss: ScanResult['loss']
}

export interface BrokenMember extends SeriesMember {
  readonly error: string
}

export interface Series {
  readonly definitions: Readonly<Record<string, string>>
  readonly settings: ScanResult['settings'] | null
  readonly steps: readonly SeriesStep[]
  readonly broken: readonly BrokenMember[]
  readonly onsets: readonly Onset[]
  /** Of the loss on the second copy of the random tokens. */
  readonly lossDrop: LossDrop | null
  readonly warnings: readonly string[]
}

export interface SeriesOptions extends Omit<ScanOptions, 'sequences' | 'prompts' | 'onValues'> {
  readonly threshold?: number // default 0.5
  readonly open?: OpenOptions
  /** Another way to open a member: for tests, and for a cache of open models. */
  readonly openMember?: (path: string) => Promise<Model>
  /** A scan of this member that was made before with these settings: it is not made again. */
  readonly known?: (model: Model, contentHash: string) => ScanResult | null
  /** Called after each member, while its model is open; the next one waits for it. */
  readonly onStep?: (step: SeriesStep, model: Model, scan: ScanResult) => void | Promise<void>
  readonly onProgress?: (progress: Progress) => void
}

/** Throws `not-found` for a folder that is no series, and what the last broken member says when none is whole. */
export async function scanSeries(
  series: string | readonly SeriesMember[],
  options: SeriesOptions = {},
): Promise<Series> {
  const members = typeof series === 'string' ? listMembers(series) : series
  if (members.length === 0)
    throw new HeadscopeError('not-found', `${String(series)} holds no checkpoints, so it is no series.`)
  const { threshold, openMember = (path: string) => openModel(path, options.open ?? {}) } = options
  const steps: SeriesStep[] = []
  const broken: BrokenMember[] = []
  const warnings = new Set<string>()
  let first: ScanResult | null = null
  const started = performance.now()
  for (const [i, member] of members.entries()) {
    const report = (part: number) => {
      const done = i + part
      const each = (performance.now() - started) / 1000 / done
      const left = done > 0 ? each * (members.length - done) : null
      // A tenth of a member is as fine as a person reads.
      options.onProgress?.({ done: Math.round(10 * done) / 10, total: members.length, secondsLeft: left })
    }
    try {
      const model = await openMember(member.path)
      try {
        const { hash: contentHash } = await model.contentHash()
        const result =
          options.known?.(model, contentHash) ??
          (await scanHeads(model, {
            ...scanOptions(options),
            onProgress: ({ done, total }) => report(done / total),
          }))
        first ??= result
        const step = seriesStep(member, i, contentHash, result)
        steps.push(step)
        for (const warning of result.warnings) warnings.add(`${member.at}: ${warning}`)
        await options.onStep?.(step, model, result)
      } finally {
        await model.close()
      }
    } catch (error) {
      if (isCancelled(error)) throw error
      // A full or foreign workspace is no fault of the member, and the next one would meet it again.
      if (!(error instanceof HeadscopeError) || error.code === 'no-space' || error.code === 'bad-store')
        throw error
      broken.push({ ...member, error: sentence(error) })
    }
    report(1)
  }
  return seriesOf(steps, broken, first, {
    ...(threshold === undefined ? {} : { threshold }),
    warnings: [...warnings],
  })
}

/** A member that was scanned, as a step; `index` is its number where its name has none. */
export function seriesStep(
  member: SeriesMember,
  index: number,
  contentHash: string,
  { heads, loss }: ScanResult,
): SeriesStep {
  return { at: member.at, path: member.path, step: numberOf(member.at, index), contentHash, heads, loss }
}

/**
 * Scanned members, in order, as a series: onsets and the fall of the loss. `first` is any of their scans. Throws
 * `bad-checkpoint`, with what the last broken member says, when there is no step.
 */
export function seriesOf(
  steps: readonly SeriesStep[],
  broken: readonly BrokenMember[],
  first: Pick<ScanResult, 'definitions' | 'settings'> | null,
  { threshold = 0.5, warnings = [] }: { threshold?: number; warnings?: readonly string[] } = {},
): Series {
  if (!first || steps.length === 0)
    throw new HeadscopeError(
      'bad-checkpoint',
      `No member of this series can be scanned; the last one says: ${broken.at(-1)?.error ?? 'nothing'}`,
    )
  const { definitions, settings } = first
  return {
    definitions,
    settings,
    steps,
    broken,
    onsets: settings.scores.map((score) => onsetOf(steps, score, threshold)),
    lossDrop: lossDropOf(steps),
    warnings: [...warnings, ...broken.map(leftOut)],
  }
}

/** The warning about a member that is broken. */
export function leftOut({ at, error }: BrokenMember): string {
  return `${at} is left out: ${error}`
}

// --- Internal helpers ---

function scanOptions(options: SeriesOptions): ScanOptions {
  const { scores, length, batch, seed, bos, signal } = options
  return {
    ...(scores ? { scores } : {}),
    ...(length === undefined ? {} : { length }),
    ...(batch === undefined ? {} : { batch }),
    ...(seed === undefined ? {} : { seed }),
    ...(bos === undefined ? {} : { bos }),
    ...(signal ? { signal } : {}),
  }
}

function numberOf(at: string, index: number): number {
  const digits = /(\d+)(?!.*\d)/.exec(at)
  return digits ? Number(digits[1]) : index
}
