/** Eigenvalue copying: does the head raise the logit of the token it attends to? */
import { decoderOf } from '../../graph/model-spec.ts'
import { throwIfCancelled } from '../../run/pass.ts'
import { eigenvalues, matrix } from '../matrix.ts'
import { crossProduct, multiply } from '../products.ts'
import type { Score } from '../types.ts'
import { type ComputedScore, noScore } from './score.ts'

/** Below this share of what the factors could give, the product is rounding and not a map. */
const NOTHING = 1e-6

export const copying: ComputedScore = {
  name: 'copying',
  title: 'Copying (eigenvalues)',
  definition:
    'Eigenvalue copying (Elhage et al. 2021): Σ Re λ / Σ |λ| over the eigenvalues λ of W_E W_V W_O W_U, with the gain and centring of the norms folded in and biases ignored; 1 where every token raises itself, −1 where every token lowers itself. From the weights alone: it says nothing of where the head attends.',
  caveat: (spec) =>
    decoderOf(spec).layers.some(({ norms }) => norms === 'after' || norms === 'both')
      ? 'copying, ov_top1 and ov_top5 leave out the norm that this model puts on what attention writes.'
      : null,
  kind: 'weights',
  async heads({ model, maps, signal }) {
    const engine = model.engine()
    const { layers } = decoderOf(model.spec)
    const { vocabulary } = maps
    if (typeof vocabulary === 'string')
      return layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => noScore(vocabulary)))
    const cross = await crossProduct(engine, vocabulary.unembedding, vocabulary.embedding) // W_U W_E [d_model, d_model]
    const middle = { data: cross.data, shape: [1, ...cross.shape] }
    const size = norm(cross.data)
    const all: Score[][] = []
    for (const [layer, { nHeads, nKvHeads, dHead }] of layers.entries()) {
      throwIfCancelled(signal)
      const values = await maps.values(layer)
      const out = await maps.readOutputs(layer)
      const back = await multiply(engine, out, middle) // [head, d_head, d_model]
      const d = model.spec.dModel
      const heads: Score[] = []
      for (let head = 0; head < nHeads; head++) {
        const kv = Math.floor(head / (nHeads / nKvHeads))
        const a = { data: back.data.slice(head * dHead * d, (head + 1) * dHead * d), shape: [1, dHead, d] }
        const b = { data: values.data.slice(kv * d * dHead, (kv + 1) * d * dHead), shape: [1, d, dHead] }
        const product = (await multiply(engine, a, b)).data // [d_head, d_head]: the same non-zero eigenvalues
        const could = norm(out.data.subarray(head * dHead * d, (head + 1) * dHead * d)) * size * norm(b.data)
        heads.push(score(product, dHead, could))
      }
      all.push(heads)
    }
    return all
  },
}

// --- Internal helpers ---

function score(product: Float32Array, n: number, could: number): Score {
  if (!product.every(Number.isFinite)) return noScore('some weight is not a finite number')
  if (could === 0)
    return noScore('the head’s value or output weights are all zero, so there is nothing to copy')
  const values = eigenvalues(matrix(n, n, product))
  const total = values.reduce((sum, { re, im }) => sum + Math.hypot(re, im), 0)
  if (total <= NOTHING * could)
    return noScore(
      'every eigenvalue is zero: the head maps no token to a token (as a pure previous-token head does)',
    )
  const value = values.reduce((sum, { re }) => sum + re, 0) / total
  return {
    value,
    n: 0,
    rows: 0,
    low: null,
    high: null,
    why: 'no interval: computed from the weights, exactly',
  }
}

function norm(values: Float32Array): number {
  let sum = 0
  for (const value of values) sum += value * value
  return Math.sqrt(sum)
}
