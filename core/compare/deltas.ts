/** By how much the heads of two models differ. In: scans of both, pattern distances per prompt. Out: deltas with intervals, ranked. */
import { meanScore } from '../analysis/bootstrap.ts'
import { noScore } from '../analysis/scores/score.ts'
import type { HeadScores } from '../analysis/types.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import { clearBeyond } from './noise.ts'
import type { BothScans } from './shared-scan.ts'
import type { ComparedHead, Comparison, Delta } from './types.ts'

/** Every head of two models of one shape: score deltas, and how far the patterns are apart. */
export function headsOf(
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

/** Heads with a clear delta, largest first. */
export function movedOf(heads: readonly ComparedHead[]): Comparison['moved'] {
  return heads
    .flatMap(({ layer, head, deltas }) => {
      const clear = Object.entries(deltas)
        .filter(([, delta]) => delta.clear && delta.value !== null)
        .sort(([, x], [, y]) => Math.abs(y.value!) - Math.abs(x.value!))[0]
      return clear ? [{ layer, head, score: clear[0], delta: clear[1].value! }] : []
    })
    .sort((x, y) => Math.abs(y.delta) - Math.abs(x.delta))
}

// --- Internal helpers ---

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
