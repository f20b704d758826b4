/**
 * Patterns and predictions of two models on the same prompts, a few at a time. In: both models, prompts that are the same
 * ids for both. Out: pattern distances per head and prompt, KL and agreement, matches by behaviour. Cost: one forward of
 * each model per prompt; memory: both models' patterns and logits of a few prompts.
 */
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { addSimilarity, matchesOf, noSimilarity } from './matches.ts'
import { keepPatterns, rowDistance } from './patterns.ts'
import { type ComparedIds, predictionOf, predictionSummary } from './predictions.ts'
import type { PromptPrediction } from './types.ts'

/** Bytes of logits and patterns of one model that are held at once. */
const BUDGET = 128 * 1024 * 1024
/** Prompts and tokens by which heads are matched. */
const MATCHED = { prompts: 4, tokens: 96 } as const

/** Patterns and predictions of both, a few prompts at a time. */
export async function overPrompts(
  a: Model,
  b: Model,
  prompts: readonly (readonly number[])[],
  how: {
    readonly sameShape: boolean
    readonly match: boolean
    /** null: no distributions are compared, for the reason `why`. */
    readonly over: ComparedIds | null
    readonly why: string | null
    readonly seed: number
    readonly signal: AbortSignal | undefined
  },
  report: (done: number) => void,
) {
  const layersA = decoderOf(a.spec).layers
  const distances = layersA.map(({ nHeads }) => Array.from({ length: nHeads }, () => [] as number[]))
  const perPrompt: PromptPrediction[] = []
  const similar = noSimilarity(a.spec, b.spec)
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
    const keep = { logits: how.over !== null, signal: how.signal }
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
      if (how.over && inA.logits && inB.logits)
        perPrompt.push(predictionOf(inA.logits, inB.logits, item, ids, how.over))
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
    prediction: predictionSummary(perPrompt, how.why, how.over?.size ?? 0, how.seed),
    matches: how.match && matched > 0 ? matchesOf(a.spec, b.spec, similar, matched) : null,
    warnings: [...warnings],
  }
}
