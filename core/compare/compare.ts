/**
 * Two checkpoints on the same prompts and sequences. In: two opened models, prompts. Out: score deltas with intervals,
 * pattern distance per head, KL of the predictions per position, which heads moved, and matches by behaviour. Cost:
 * one forward of each model per prompt and per sequence; memory: both models' patterns and logits of a few prompts.
 */
import { meanScore } from '../analysis/bootstrap.ts'
import { type ScanOptions, scanHeads } from '../analysis/scan.ts'
import { noScore } from '../analysis/scores/score.ts'
import { randomRepeats } from '../analysis/sequences.ts'
import type { HeadScores } from '../analysis/types.ts'
import type { Progress } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import { bestAssignment } from './assignment.ts'
import { clearBeyond } from './noise.ts'
import { keepPatterns, rowDistance } from './patterns.ts'
import { divergence } from './predictions.ts'
import type {
  ComparedHead,
  Comparison,
  Delta,
  HeadMatch,
  PredictionComparison,
  PromptPrediction,
  VocabularyDifference,
} from './types.ts'
import { compareVocabularies, sharedIds } from './vocabulary.ts'

/** A prompt as each of the two reads it; equal ids are compared. */
export interface ComparedPrompt {
  readonly a: readonly number[]
  readonly b: readonly number[]
}

export interface CompareOptions {
  readonly scores?: readonly string[]
  readonly length?: number // tokens of one copy; default 48
  readonly batch?: number // sequences; default 32
  readonly seed?: number
  readonly bos?: boolean
  /** Match heads by behaviour though the shapes are equal (seeds of one recipe). */
  readonly match?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** Bytes of logits and patterns of one model that are held at once. */
const BUDGET = 128 * 1024 * 1024
/** Prompts and tokens by which heads are matched. */
const MATCHED = { prompts: 4, tokens: 96 } as const

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

/** Throws `bad-request` where nothing of the two can be compared. */
export async function compare(
  a: Model,
  b: Model,
  prompts: readonly ComparedPrompt[],
  options: CompareOptions = {},
): Promise<Comparison> {
  for (const model of [a, b])
    if (!decoderOf(model.spec).causal)
      throw new HeadscopeError(
        'bad-request',
        `${model.name} is bidirectional: it predicts no next token and has no induction; causal models are compared.`,
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

  const usable = prompts.filter((prompt) => equalIds(prompt) && prompt.a.every((id) => id < b.spec.dVocab))
  if (usable.length < prompts.length)
    warnings.add(
      `${prompts.length - usable.length} of ${prompts.length} prompts are other ids for the two tokenizers; they are left out of patterns and predictions.`,
    )
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
    { sameShape, match: asMatched, vocabulary, seed, signal: options.signal },
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

interface BothScans {
  readonly a: readonly HeadScores[]
  readonly b: readonly HeadScores[]
  readonly definitions: Readonly<Record<string, string>>
  readonly names: readonly string[]
  /** Values by `layer head score`, one a sequence. */
  readonly valuesA: ReadonlyMap<string, readonly number[]>
  readonly valuesB: ReadonlyMap<string, readonly number[]>
  readonly warnings: readonly string[]
}

/** A tokenizer of which these ids are never drawn. */
function withSpecial(tokenizer: Model['tokenizer'], specialIds: ReadonlySet<number>): Model['tokenizer'] {
  return tokenizer ? { ...tokenizer, specialIds } : null
}

/** Both models scanned on the same sequences, or a sentence why not. */
async function bothScans(
  a: Model,
  b: Model,
  vocabulary: VocabularyDifference,
  options: CompareOptions,
  report: (done: number) => void,
): Promise<BothScans | string> {
  const { length = 48, batch = 32, seed = 1 } = options
  const shared = vocabulary.same ? null : new Set(sharedIds(a, b))
  if (shared && shared.size < length)
    return `Scores are not compared: a sequence of ${length} different tokens needs as many that both vocabularies share, and there are ${shared.size}.`
  const bosId = a.tokenizer?.bosId ?? null
  const sameBos = !b.tokenizer || bosId === b.tokenizer.bosId
  const bos = options.bos ?? ((a.tokenizer?.addsBos ?? false) && sameBos)
  const special = new Set([...(a.tokenizer?.specialIds ?? []), ...(b.tokenizer?.specialIds ?? [])])
  if (shared) for (let id = 0; id < a.spec.dVocab; id++) if (!shared.has(id)) special.add(id)
  const source = {
    spec: a.spec,
    tokenizer: withSpecial(a.tokenizer ?? b.tokenizer, special),
  }
  const sequences = randomRepeats(source, { length, batch, seed, bos }).ids
  const scan = async (model: Model, before: number) => {
    const values = new Map<string, readonly number[]>()
    const settings: ScanOptions = {
      sequences,
      ...(options.scores ? { scores: options.scores } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
      onValues: (score, layer, head, list) => values.set(`${layer} ${head} ${score}`, list),
      onProgress: ({ done, total }) => report(before + (batch * done) / total),
    }
    return { result: await scanHeads(model, settings), values }
  }
  const inA = await scan(a, 0)
  const inB = await scan(b, batch)
  return {
    a: inA.result.heads,
    b: inB.result.heads,
    definitions: inA.result.definitions,
    names: inA.result.settings.scores,
    valuesA: inA.values,
    valuesB: inB.values,
    warnings: [...inA.result.warnings, ...inB.result.warnings],
  }
}

/** Patterns and predictions of both, a few prompts at a time. */
async function overPrompts(
  a: Model,
  b: Model,
  prompts: readonly (readonly number[])[],
  how: {
    readonly sameShape: boolean
    readonly match: boolean
    readonly vocabulary: VocabularyDifference
    readonly seed: number
    readonly signal: AbortSignal | undefined
  },
  report: (done: number) => void,
) {
  const layersA = decoderOf(a.spec).layers
  const layersB = decoderOf(b.spec).layers
  const distances = layersA.map(({ nHeads }) => Array.from({ length: nHeads }, () => [] as number[]))
  const size = Math.min(...how.vocabulary.sizes)
  const shared = how.vocabulary.same || how.vocabulary.examples.every(({ id }) => id >= size)
  const klProblem = shared
    ? null
    : 'the two vocabularies give ids different meanings, so the distributions are not over the same tokens'
  const perPrompt: PromptPrediction[] = []
  const similar = layersA.flatMap(({ nHeads }) =>
    Array.from(
      { length: nHeads },
      () => new Float64Array(layersB.reduce((sum, layer) => sum + layer.nHeads, 0)),
    ),
  )
  let matched = 0
  const warnings = new Set<string>()
  const perToken = (model: Model, length: number) =>
    4 *
    (model.spec.dVocab + decoderOf(model.spec).layers.reduce((sum, layer) => sum + layer.nHeads, 0) * length)
  for (let first = 0; first < prompts.length; ) {
    const batch: (readonly number[])[] = []
    for (let i = first; i < prompts.length; i++) {
      const longest = Math.max(...batch.map((ids) => ids.length), prompts[i]!.length)
      const bytes = (batch.length + 1) * longest * Math.max(perToken(a, longest), perToken(b, longest))
      if (batch.length > 0 && bytes > BUDGET) break
      batch.push(prompts[i]!)
    }
    const keep = { logits: klProblem === null, signal: how.signal }
    const inA = await keepPatterns(a, batch, keep)
    report(2 * first + batch.length)
    const inB = await keepPatterns(b, batch, keep)
    for (const warning of [...inA.warnings, ...inB.warnings]) warnings.add(warning)
    batch.forEach((ids, item) => {
      if (how.sameShape)
        distances.forEach((heads, layer) => {
          heads.forEach((list, head) => {
            const place = { item, headA: head, headB: head, length: ids.length }
            list.push(rowDistance(inA.patterns[layer]!, inB.patterns[layer]!, place))
          })
        })
      if (inA.logits && inB.logits) perPrompt.push(predictionOf(inA.logits, inB.logits, item, ids, size))
      if (how.match && matched < MATCHED.prompts) {
        matched++
        addSimilarity(similar, inA.patterns, inB.patterns, item, Math.min(ids.length, MATCHED.tokens))
      }
    })
    first += batch.length
    report(2 * first)
  }
  return {
    distances,
    prediction: predictionSummary(perPrompt, klProblem, size, how.seed),
    matches: how.match && matched > 0 ? matchesOf(a, b, similar, matched) : null,
    warnings: [...warnings],
  }
}

function predictionOf(
  a: Tensor,
  b: Tensor,
  item: number,
  ids: readonly number[],
  size: number,
): PromptPrediction {
  const row = (tensor: Tensor, pos: number) => {
    const [, rows, vocab] = tensor.shape as [number, number, number]
    const from = (item * rows + pos) * vocab
    return tensor.data.subarray(from, from + vocab)
  }
  const each = ids.map((_, pos) => divergence(row(a, pos), row(b, pos), size))
  return { ids, kl: each.map(({ kl }) => kl), top1_equal: each.map(({ equal }) => equal) }
}

function predictionSummary(
  prompts: readonly PromptPrediction[],
  problem: string | null,
  vocabulary: number,
  seed: number,
): PredictionComparison {
  const all = prompts.flatMap(({ kl }) => kl)
  const positions = all.length
  const nothing = { kl_interval: null, positions, vocabulary, prompts }
  if (problem) return { kl: null, top1_agreement: null, ...nothing, why: problem }
  if (positions === 0)
    return { kl: null, top1_agreement: null, ...nothing, why: 'no prompt is the same ids for both models' }
  const equal = prompts.flatMap(({ top1_equal }) => top1_equal).filter(Boolean).length
  if (all.some((kl) => kl === null))
    return {
      kl: null,
      top1_agreement: equal / positions,
      ...nothing,
      why: 'some logit is not a finite number',
    }
  const mean = (list: readonly (number | null)[]) =>
    (list as number[]).reduce((x, y) => x + y, 0) / list.length
  const { low, high } = meanScore(
    prompts.map(({ kl }) => mean(kl)),
    positions,
    seed,
  )
  return {
    ...nothing,
    kl: mean(all),
    kl_interval: low === null || high === null ? null : { low, high },
    top1_agreement: equal / positions,
  }
}

/** Adds 1 − distance of every head of A to every head of B on one prompt. */
function addSimilarity(
  similar: readonly Float64Array[],
  a: readonly Tensor[],
  b: readonly Tensor[],
  item: number,
  length: number,
): void {
  let i = 0
  for (const inA of a)
    for (let headA = 0; headA < inA.shape[1]!; headA++, i++) {
      let j = 0
      for (const inB of b)
        for (let headB = 0; headB < inB.shape[1]!; headB++, j++)
          similar[i]![j]! += 1 - rowDistance(inA, inB, { item, headA, headB, length })
    }
}

function matchesOf(a: Model, b: Model, similar: readonly Float64Array[], prompts: number): HeadMatch[] {
  const places = (model: Model) =>
    decoderOf(model.spec).layers.flatMap(({ nHeads }, layer) =>
      Array.from({ length: nHeads }, (_, head) => ({ layer, head })),
    )
  const [ofA, ofB] = [places(a), places(b)]
  const columns = bestAssignment(similar.map((row) => [...row]))
  return columns
    .flatMap((column, row) =>
      column === -1 ? [] : [{ a: ofA[row]!, b: ofB[column]!, similarity: similar[row]![column]! / prompts }],
    )
    .sort((x, y) => y.similarity - x.similarity)
}

function headsOf(
  spec: ModelSpec,
  scans: BothScans | string,
  distances: readonly (readonly (readonly number[])[])[],
  seed: number,
  prompts: number,
): ComparedHead[] {
  const layers = decoderOf(spec).layers
  const heads = layers.reduce((sum, { nHeads }) => sum + nHeads, 0)
  const tests = typeof scans === 'string' ? 1 : heads * scans.names.length
  return layers.flatMap(({ nHeads }, layer) =>
    Array.from({ length: nHeads }, (_, head): ComparedHead => {
      const list = distances[layer]![head]!
      const distance = meanScore(list, list.length, seed)
      const { low, high } = distance
      return {
        layer,
        head,
        deltas: typeof scans === 'string' ? {} : deltasOf(scans, layer, head, tests, seed),
        pattern_distance: distance.value,
        pattern_interval: low === null || high === null ? null : { low, high },
        ...(prompts === 0 ? { why: 'no prompt is the same ids for both models' } : {}),
      }
    }),
  )
}

function deltasOf(
  scans: BothScans,
  layer: number,
  head: number,
  tests: number,
  seed: number,
): Record<string, Delta> {
  const find = (list: readonly HeadScores[]) =>
    list.find((one) => one.layer === layer && one.head === head)!.scores
  const [inA, inB] = [find(scans.a), find(scans.b)]
  return Object.fromEntries(
    scans.names.map((name): [string, Delta] => {
      const [scoreA, scoreB] = [inA[name]!, inB[name]!]
      const missing = scoreA.value === null ? scoreA : scoreB.value === null ? scoreB : null
      if (missing) return [name, { ...noScore(missing.why ?? 'the score does not exist'), clear: false }]
      const key = `${layer} ${head} ${name}`
      const [valuesA, valuesB] = [scans.valuesA.get(key), scans.valuesB.get(key)]
      if (!valuesA || !valuesB || valuesA.length !== valuesB.length) {
        const value = scoreB.value! - scoreA.value!
        const why = 'no interval: this score has no value per sequence'
        return [name, { value, n: 0, rows: 0, low: null, high: null, why, clear: false }]
      }
      const differences = valuesB.map((value, i) => value - valuesA[i]!)
      return [name, { ...meanScore(differences, scoreB.rows, seed), clear: clearBeyond(differences, tests) }]
    }),
  )
}

function movedOf(heads: readonly ComparedHead[]): Comparison['moved'] {
  return heads
    .flatMap(({ layer, head, deltas }) => {
      const clear = Object.entries(deltas)
        .filter(([, delta]) => delta.clear && delta.value !== null)
        .sort(([, x], [, y]) => Math.abs(y.value!) - Math.abs(x.value!))[0]
      return clear ? [{ layer, head, score: clear[0], delta: clear[1].value! }] : []
    })
    .sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta))
}
