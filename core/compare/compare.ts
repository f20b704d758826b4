/**
 * Two checkpoints on the same prompts and sequences. In: two opened models, prompts. Out: score deltas with intervals,
 * pattern distance per head, KL of the predictions per position, which heads moved, and matches by behaviour. Cost:
 * one forward of each model per prompt and per sequence; memory: both models' patterns and logits of a few prompts.
 */
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { requireOneText } from '../run/one-text.ts'
import { headsOf, movedOf } from './deltas.ts'
import { overPrompts } from './over-prompts.ts'
import type { ComparedIds } from './predictions.ts'
import { bothScans } from './shared-scan.ts'
import type { Comparison } from './types.ts'
import { compareVocabularies, sameMeaning } from './vocabulary.ts'

/** A prompt as each of the two reads it; equal ids are compared. */
export interface ComparedPrompt {
  readonly a: readonly number[]
  readonly b: readonly number[]
}

export interface CompareOptions {
  readonly scores?: readonly string[]
  readonly length?: number // tokens of one copy; default 48, or as many as fit both
  readonly batch?: number // sequences; default 32
  readonly seed?: number
  readonly bos?: boolean
  /** Match heads by behaviour though the shapes are equal (seeds of one recipe). */
  readonly match?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export const COMPARE = {
  deltas:
    'B − A of each score, paired by sequence (the same random tokens in both), with a bootstrap interval. `clear`: the mean is more than z standard errors from 0, z for 5 % over all heads and scores together (Bonferroni), and at least 0.0001; heads whose deltas are not clear are not ranked.',
  pattern_distance:
    'Mean total variation between the two attention rows, ½ Σ_k |A[q,k] − B[q,k]|, over queries q ≥ 1 of the same prompts; 0 alike, 1 disjoint.',
  kl: 'KL(A‖B) of the next-token distributions in nats, mean over positions; 0 alike.',
  top1_agreement: 'Share of positions at which both models find the same token likeliest.',
  matches:
    'Heads of A and B assigned one to one so that the summed similarity of their patterns (1 − mean total variation on the first prompts) is largest (Hungarian method). By behaviour, not by index.',
} as const

/** Throws `bad-request` where nothing of the two can be compared, `bad-prompt` where a prompt is not two lists of ids. */
export async function compare(
  a: Model,
  b: Model,
  prompts: readonly ComparedPrompt[],
  options: CompareOptions = {},
): Promise<Comparison> {
  for (const model of [a, b]) requireOneText(model, 'Comparisons')
  for (const model of [a, b])
    if (!decoderOf(model.spec).causal)
      throw new HeadscopeError(
        'bad-request',
        `${model.name} is bidirectional: it predicts no next token and has no induction; causal models are compared.`,
      )
  const wrong = prompts.findIndex((prompt) => !Array.isArray(prompt?.a) || !Array.isArray(prompt.b))
  if (wrong >= 0)
    throw new HeadscopeError(
      'bad-prompt',
      `Prompt ${wrong} must be {a: […], b: […]}: its token ids as each of the two models reads it.`,
    )
  const seed = options.seed ?? 1
  const warnings = new Set<string>()
  const [hashA, hashB] = [await a.contentHash(), await b.contentHash()]
  const identical = hashA.hash === hashB.hash
  const sameShape = shapeOf(a.spec) === shapeOf(b.spec)
  const vocabulary = compareVocabularies(a, b)
  for (const sentence of vocabulary.comparable) warnings.add(sentence)
  if (!sameShape)
    warnings.add(
      `The two have different shapes (${shapeOf(a.spec)} and ${shapeOf(b.spec)}), so heads are matched by behaviour, not by index.`,
    )

  const same = sameMeaning(a, b)
  const usable = prompts.filter((prompt) => equalIds(prompt) && prompt.a.every((id) => same[id] === 1))
  if (usable.length < prompts.length)
    warnings.add(
      `${prompts.length - usable.length} of ${prompts.length} prompts are other tokens for the two models; they are left out of patterns and predictions.`,
    )
  const over = comparedIds(same)
  const units = (options.batch ?? 32) * 2 + usable.length * 2
  const started = performance.now()
  const report = (done: number) => {
    const each = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total: units, secondsLeft: done > 0 ? each * (units - done) : null })
  }

  const scans = await bothScans(a, b, vocabulary, options, report)
  if (typeof scans === 'string') warnings.add(scans)
  else for (const warning of scans.warnings) warnings.add(warning)
  const asMatched = options.match === true || !sameShape
  const along = await overPrompts(
    a,
    b,
    usable.map((prompt) => prompt.a),
    { sameShape, match: asMatched, over, why: over ? null : NOTHING_SHARED, seed, signal: options.signal },
    (done) => report((options.batch ?? 32) * 2 + done),
  )
  for (const warning of along.warnings) warnings.add(warning)

  const heads = sameShape ? headsOf(a.spec, scans, along.distances, seed, usable.length) : []
  return {
    definitions: { ...(typeof scans === 'string' ? {} : scans.definitions), ...COMPARE },
    identical,
    sameShape,
    vocabulary,
    seed,
    heads,
    moved: movedOf(heads),
    prediction: along.prediction,
    matches: along.matches,
    scans: typeof scans === 'string' ? { a: [], b: [] } : { a: scans.a, b: scans.b },
    warnings: [...warnings],
  }
}

// --- Internal helpers ---

function shapeOf(spec: ModelSpec): string {
  const { layers } = decoderOf(spec)
  const counts = [...new Set(layers.map(({ nHeads }) => nHeads))].join('/')
  return `${layers.length} layers × ${counts} heads`
}

function equalIds({ a, b }: ComparedPrompt): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}

const NOTHING_SHARED =
  'the two vocabularies share fewer than two tokens, so there are no distributions over the same tokens'

/** All ids of the smaller vocabulary, or those of them that mean the same; null where that is no distribution. */
function comparedIds(same: Uint8Array): ComparedIds | null {
  const only = Int32Array.from([...same.keys()].filter((id) => same[id] === 1))
  if (only.length === same.length) return { size: same.length, only: null }
  return only.length < 2 ? null : { size: only.length, only }
}
