/**
 * Scores of every head. In: a model, names of scores, sequences or how to draw them. Out: one score per head and
 * definition with its interval. Cost: one forward per sequence for all scores on that kind of sequence; patterns are
 * reduced layer by layer and never kept. Scores are computed from the run's float32 values.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import type { RunItem } from '../run/types.ts'
import { createHeadMaps, type HeadMaps } from './head-maps.ts'
import { createAccumulator, runSequences } from './pattern-scan.ts'
import { scoresNamed } from './scores/index.ts'
import {
  type AnyScore,
  type ComputedScore,
  type ModelScore,
  noScore,
  type PatternScore,
  type ScoreContext,
} from './scores/score.ts'
import {
  drawnSequences,
  fittingLength,
  givenRepeats,
  ordinaryIds,
  type RepeatSequences,
  randomRepeats,
  type ScoreSequence,
  type SequenceKind,
} from './sequences.ts'
import { DEFAULT_SCORES, type HeadScores, type ScanResult, type Score } from './types.ts'

export interface ScanOptions {
  /** Names of scores, or `all`; default: the four of repeated random tokens. */
  readonly scores?: readonly string[]
  /** Tokens of one copy; default 48, or as many as fit. */
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
  /** Whether BOS stands in front; default: as the tokenizer does for text. */
  readonly bos?: boolean
  /** Exactly these sequences instead of drawn ones. */
  readonly sequences?: readonly (readonly number[])[]
  /** Texts for the scores that read any text. */
  readonly prompts?: readonly (readonly number[])[]
  /** Takes the values behind a pattern score, one a sequence, in the order of the sequences. */
  readonly onValues?: (score: string, layer: number, head: number, values: readonly number[]) => void
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** Throws `bad-request` for settings that do not fit, `cancelled` by the signal. */
export async function scanHeads(model: Model, options: ScanOptions = {}): Promise<ScanResult> {
  const { spec } = model
  if (!decoderOf(spec).causal)
    throw new HeadscopeError(
      'bad-request',
      'These scores assume that a query sees only what is before it; this model is bidirectional.',
    )
  const asked = scoresNamed(options.scores ?? DEFAULT_SCORES)
  if (spec.encoderDecoder)
    throw new HeadscopeError(
      'bad-request',
      'These scores are defined on one text that repeats, and this model reads one with its encoder and another with its decoder; capture its patterns in a run instead.',
    )
  const lacking = beyondPatterns(model, asked)
  if (lacking.length > 0 && !options.scores?.includes('all'))
    throw new HeadscopeError(
      'bad-request',
      `The score ${lacking[0]!.name} reads more than patterns, which ${model.name} does not name; leave it out, or open the checkpoint's folder.`,
    )
  const scores = asked.filter((score) => !lacking.includes(score))
  const settings = settingsOf(model, options)
  const repeats = options.sequences ? givenRepeats(options.sequences) : randomRepeats(model, settings)
  const context = contextOf(model, repeats, settings, options)
  const kinds = kindsOf(scores)
  const computed = scores.filter((score) => score.kind !== 'pattern')
  const steps = createSteps(kinds, computed, context, options)
  const warnings = new Set(settings.note === null ? [] : [settings.note])
  if (lacking.length > 0)
    warnings.add(
      `Left out, as they read more than patterns, which ${model.name} does not name: ${lacking.map(({ name }) => name).join(', ')}.`,
    )
  const table = new Map<string, Score[][]>()
  let items: readonly RunItem[] = []
  const seed = options.sequences ? null : settings.seed

  for (const kind of kinds) {
    const sequences = context.sequences(kind)
    const own = scores.filter(
      (score): score is PatternScore => score.kind === 'pattern' && score.sequences === kind,
    )
    const accumulator = createAccumulator(spec, own, sequences, {
      outputGrams: (layer) => context.maps.outputGrams(layer),
    })
    if (typeof sequences !== 'string') {
      const run = await runSequences(model, sequences, accumulator, {
        signal: options.signal,
        onProgress: steps.within,
      })
      if (kind === 'repeats') items = run.items
      for (const warning of run.warnings) warnings.add(warning)
      steps.next(sequences.length)
    }
    for (const [name, heads] of accumulator.finish(seed ?? 1, options.onValues)) table.set(name, heads)
  }
  const ofModel: Record<string, Score> = {}
  for (const score of computed) {
    if (score.kind === 'model') ofModel[score.name] = await score.value(context)
    else table.set(score.name, await headsOfComputed(score, context))
    steps.next(COMPUTED_STEPS)
  }
  for (const score of scores) {
    const caveat = score.caveat?.(spec) ?? null
    if (caveat) warnings.add(caveat)
  }
  const names = scores.filter((score) => score.kind !== 'model').map(({ name }) => name)
  return {
    definitions: Object.fromEntries(scores.map((score) => [score.name, score.definition])),
    settings: {
      scores: names,
      length: repeats.layout.length,
      batch: repeats.ids.length,
      seed,
      bos: repeats.layout.offset === 1,
    },
    heads: headsOf(table, names, spec),
    ...(Object.keys(ofModel).length > 0 ? { ofModel } : {}),
    loss: copyLosses(items, repeats),
    warnings: [...warnings],
  }
}

/**
 * Whether a scan that was made before is what these options would give: the same drawn sequences, and every score that
 * is asked for. Scores of texts are never: a scan does not say which texts it read.
 */
export function isScanOf(scan: ScanResult, model: Model, options: ScanOptions): boolean {
  const { settings } = scan
  const asked = settingsOf(model, options)
  const names = scoresNamed(options.scores ?? DEFAULT_SCORES)
  return (
    options.sequences === undefined &&
    options.prompts === undefined &&
    settings.length === asked.length &&
    settings.batch === asked.batch &&
    settings.seed === asked.seed &&
    settings.bos === asked.bos &&
    names.every((score) => {
      if (score.kind === 'pattern' && score.sequences === 'text') return false
      return score.kind === 'model' ? scan.ofModel?.[score.name] : settings.scores.includes(score.name)
    })
  )
}

// --- Internal helpers ---

/**
 * Scores that a file made by others cannot have: it names no weights and no values, and does not say by what its scores
 * are scaled.
 */
function beyondPatterns({ spec }: Model, scores: readonly AnyScore[]): AnyScore[] {
  if (spec.family !== 'onnx') return []
  return scores.filter((score) =>
    score.kind === 'pattern' ? score.needs.length > 0 : score.kind !== 'model',
  )
}

function settingsOf(model: Model, options: ScanOptions) {
  const { batch = 32, seed = 1, bos = model.tokenizer?.addsBos ?? false } = options
  for (const [name, value, least] of [
    ['length', options.length ?? 2, 2],
    ['batch', batch, 1],
    ['seed', seed, 0],
  ] as const)
    if (!Number.isInteger(value) || value < least)
      throw new HeadscopeError(
        'bad-request',
        `${name} must be a whole number of ${least} or more, but is ${value}.`,
      )
  const { length, note } =
    options.length !== undefined || options.sequences
      ? { length: options.length ?? 0, note: null }
      : fittingLength([model], ordinaryIds(model).length, bos)
  return { length, batch, seed, bos, note }
}

/** The kinds of sequences that the scores read; the repeats are always run, for the losses. */
function kindsOf(scores: readonly AnyScore[]): SequenceKind[] {
  const kinds = new Set<SequenceKind>(['repeats'])
  for (const score of scores) if (score.kind === 'pattern') kinds.add(score.sequences)
  return [...kinds]
}

function contextOf(
  model: Model,
  repeats: RepeatSequences,
  settings: ReturnType<typeof settingsOf>,
  options: ScanOptions,
): ScoreContext {
  const { offset, length } = repeats.layout
  const bos = model.tokenizer?.bosId ?? null
  const drawn = new Map<SequenceKind, readonly ScoreSequence[] | string>()
  let maps: HeadMaps | null = null
  const make = (kind: SequenceKind) => {
    if (kind === 'repeats' || (kind === 'text' && !options.prompts))
      return repeats.ids.map((ids) => ({ ids, offset, length }))
    if (kind === 'text')
      return options.prompts!.map((ids) => ({ ids, offset: ids[0] === bos ? 1 : 0, length: 0 }))
    return drawnSequences(model, kind, {
      batch: repeats.ids.length,
      seed: settings.seed,
      bos: offset === 1 && bos !== null,
    })
  }
  return {
    model,
    // Made when a score first reads weights: a model that only shows patterns (an ONNX file) has none to map.
    get maps() {
      maps ??= createHeadMaps(model.engine())
      return maps
    },
    seed: settings.seed,
    sequences(kind) {
      const known = drawn.get(kind) ?? make(kind)
      drawn.set(kind, known)
      return known
    },
    prompts: options.prompts ?? [],
    signal: options.signal,
  }
}

/** A model whose weights or blocks are not at hand (an ONNX file) has no such score; the rest goes on. */
async function headsOfComputed(score: ComputedScore, context: ScoreContext): Promise<Score[][]> {
  try {
    return await score.heads(context)
  } catch (error) {
    if (!(error instanceof HeadscopeError) || error.code !== 'unsupported') throw error
    return decoderOf(context.model.spec).layers.map(({ nHeads }) =>
      Array.from({ length: nHeads }, () => noScore(error.message.replace(/\.$/, ''))),
    )
  }
}

/** What a computed score counts as, in sequences, for the progress. */
const COMPUTED_STEPS = 8

function createSteps(
  kinds: readonly SequenceKind[],
  computed: readonly (ComputedScore | ModelScore)[],
  context: ScoreContext,
  options: ScanOptions,
) {
  const sizes = kinds.map((kind) => {
    const sequences = context.sequences(kind)
    return typeof sequences === 'string' ? 0 : sequences.length
  })
  const total = sizes.reduce((a, b) => a + b, 0) + computed.length * COMPUTED_STEPS
  const started = performance.now()
  let before = 0
  const within = (part: number) => {
    const done = before + part
    const perStep = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total, secondsLeft: done > 0 ? perStep * (total - done) : null })
  }
  return {
    within,
    next(size: number) {
      within(size)
      before += size
    },
  }
}

function headsOf(
  table: ReadonlyMap<string, Score[][]>,
  names: readonly string[],
  spec: Model['spec'],
): HeadScores[] {
  return decoderOf(spec).layers.flatMap(({ nHeads }, layer) =>
    Array.from({ length: nHeads }, (_, head) => ({
      layer,
      head,
      scores: Object.fromEntries(names.map((name) => [name, table.get(name)![layer]![head]!])),
    })),
  )
}

/** Mean loss of predicting the tokens of each copy, nats: the second is low where induction works. */
function copyLosses(items: readonly RunItem[], { layout }: RepeatSequences): ScanResult['loss'] {
  const { offset, length, total } = layout
  const mean = (from: number, to: number) => {
    const losses = items.flatMap((item) =>
      item.positions.slice(from - 1, to - 1).map((position) => position.loss),
    )
    return losses.length > 0 && losses.every((loss) => loss !== null)
      ? (losses as number[]).reduce((sum, loss) => sum + loss, 0) / losses.length
      : null
  }
  // Token t is predicted from position t - 1: the very first has no prediction (with BOS, r_1 has), and nothing says
  // that the second copy begins.
  return { first: mean(Math.max(1, offset), offset + length), second: mean(offset + length + 1, total) }
}
