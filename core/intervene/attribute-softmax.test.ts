/** The recomputed softmax against a plain one, with grouped keys, masks and a soft-cap. */
import { describe, expect, test } from 'vitest'
import type { LayerSpec } from '../graph/model-spec.ts'
import { createRandom } from '../random.ts'
import { keyEffects, queryEffects, type SoftmaxRun } from './attribute-softmax.ts'

const LENGTH = 6
const random = createRandom(7)
const draw = (count: number) => Float32Array.from({ length: count }, () => 2 * random.next() - 1)

describe.each([null, 1.5])('soft-cap %s', (softcap) => {
  const spec = { nHeads: 4, nKvHeads: 2, dHead: 3, scoreScale: 0.8, softcap } as LayerSpec

  /** Causal scores and pattern of all heads, in float64. */
  function attend(q: Float32Array, k: Float32Array) {
    const size = spec.nHeads * LENGTH * LENGTH
    const [scores, pattern] = [new Float32Array(size).fill(Number.NEGATIVE_INFINITY), new Float32Array(size)]
    for (let head = 0; head < spec.nHeads; head++)
      for (let query = 0; query < LENGTH; query++) {
        const row = (head * LENGTH + query) * LENGTH
        let sum = 0
        for (let key = 0; key <= query; key++) {
          let product = 0
          for (let d = 0; d < spec.dHead; d++)
            product +=
              q[(query * spec.nHeads + head) * spec.dHead + d]! *
              k[(key * spec.nKvHeads + Math.floor(head / 2)) * spec.dHead + d]!
          const scaled = spec.scoreScale * product
          scores[row + key] = softcap === null ? scaled : softcap * Math.tanh(scaled / softcap)
          sum += Math.exp(scores[row + key]!)
        }
        for (let key = 0; key <= query; key++) pattern[row + key] = Math.exp(scores[row + key]!) / sum
      }
    return { scores, pattern }
  }

  const q = draw(LENGTH * spec.nHeads * spec.dHead)
  const k = draw(LENGTH * spec.nKvHeads * spec.dHead)
  const grad = draw(spec.nHeads * LENGTH * LENGTH)
  const run: SoftmaxRun = { q, k, ...attend(q, k), grad }
  const effectOf = (pattern: Float32Array) =>
    pattern.reduce((sum, weight, i) => sum + (weight - run.pattern[i]!) * grad[i]!, 0)

  /** One vector of `from` put into `into`. */
  const swapped = (into: Float32Array, from: Float32Array, vector: number) => {
    const out = into.slice()
    out.set(from.subarray(vector * spec.dHead, (vector + 1) * spec.dHead), vector * spec.dHead)
    return out
  }

  test('queries', () => {
    const clean = draw(q.length)
    queryEffects(spec, LENGTH, run, clean).forEach((effect, vector) => {
      expect(effect).toBeCloseTo(effectOf(attend(swapped(q, clean, vector), k).pattern), 5)
    })
  })

  test('keys', () => {
    const clean = draw(k.length)
    keyEffects(spec, LENGTH, run, clean).forEach((effect, vector) => {
      expect(effect).toBeCloseTo(effectOf(attend(q, swapped(k, clean, vector)).pattern), 5)
    })
  })
})
