/**
 * What the weights alone say of the heads: spectra of the value-output and query-key maps, and composition. In: a
 * model. Out: plain data, with the random baseline and what has to be kept in mind for this family. Cost: every
 * attention matrix is read once; the rest is d_head work, and one thin product per pair of heads.
 *
 * Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
 */
import type { Progress } from '../checkpoint/types.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { throwIfCancelled } from '../run/pass.ts'
import { type Composition, composition } from './composition.ts'
import { type HeadWeights, headMatrix, headWeights, outputMatrix } from './head-weights.ts'
import { productSingularValues, transpose } from './matrix.ts'

export const WEIGHT_DEFINITIONS = {
  ov: 'Singular values of W_V W_O of a head (rank at most d_head), largest first.',
  qk: 'Singular values of W_Q W_Kᵀ of a head (rank at most d_head), largest first; before rotary positions and the norm of queries and keys.',
  composition:
    '|X Y|_F / (|X|_F |Y|_F) with X = W_V W_O of the earlier head and Y = W_Q W_Kᵀ (Q), W_K W_Qᵀ (K), W_V W_O (V) of the later one. Random matrices give about 1/√d_model.',
} as const

export interface WeightOptions {
  /** Multiply the gain of the norm before attention into what heads read (default true). */
  readonly fold?: boolean
  /** Leave composition out: it is the costly part in deep models. */
  readonly composition?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

export interface HeadSpectrum {
  readonly layer: number
  readonly head: number
  readonly ov: readonly number[]
  readonly qk: readonly number[]
  /** Frobenius norms of the two maps. */
  readonly ov_norm: number
  readonly qk_norm: number
}

export interface WeightAnalysis {
  readonly definitions: typeof WEIGHT_DEFINITIONS
  readonly folded: boolean
  readonly heads: readonly HeadSpectrum[]
  /** Heads over the encoder's text, where the model is a decoder with them. */
  readonly cross_heads?: readonly HeadSpectrum[]
  readonly composition: Composition | null
  /** 1/√d_model. */
  readonly random_baseline: number
  readonly caveats: readonly string[]
}

/** Of the decoder, where it reads an encoder. Throws `cancelled`. */
export async function weightAnalysis(model: Model, options: WeightOptions = {}): Promise<WeightAnalysis> {
  const { fold = true, signal, onProgress } = options
  const engine = model.engine()
  const { layers } = decoderOf(model.spec)
  const pairs = options.composition === false ? 0 : (layers.length * (layers.length - 1)) / 2
  const total = layers.length + pairs
  const started = performance.now()
  const step = (done: number) => {
    const seconds = (performance.now() - started) / 1000
    onProgress?.({ done, total, secondsLeft: (seconds / done) * (total - done) })
  }
  const weights: HeadWeights[] = []
  const heads: HeadSpectrum[] = []
  const crossHeads: HeadSpectrum[] = []
  const crosses = model.hooks.some(({ name }) => name.endsWith('.cross_attn.hook_z'))
  for (let layer = 0; layer < layers.length; layer++) {
    throwIfCancelled(signal)
    const own = await headWeights(engine, layer)
    for (let head = 0; head < own.nHeads; head++) heads.push(spectrumOf(own, layer, head, fold))
    if (pairs > 0) weights.push(own)
    const cross = crosses ? await headWeights(engine, layer, 'cross_attn') : null
    for (let head = 0; cross && head < cross.nHeads; head++)
      crossHeads.push(spectrumOf(cross, layer, head, fold))
    step(layer + 1)
  }
  const composed =
    options.composition === false
      ? null
      : await composition(engine, weights, { fold, signal, onPair: (done) => step(layers.length + done) })
  return {
    definitions: WEIGHT_DEFINITIONS,
    folded: fold,
    heads,
    ...(crosses ? { cross_heads: crossHeads } : {}),
    composition: composed,
    random_baseline: 1 / Math.sqrt(model.spec.dModel),
    caveats: caveats(model.spec, fold, crosses),
  }
}

// --- Internal helpers ---

function spectrumOf(w: HeadWeights, layer: number, head: number, fold: boolean): HeadSpectrum {
  const gain = fold ? (w.norm?.gain ?? null) : null
  const read = (letter: 'q' | 'k' | 'v') => headMatrix(w, letter, head, gain)
  const ov = productSingularValues(read('v'), outputMatrix(w, head))
  const qk = productSingularValues(read('q'), transpose(read('k')))
  return {
    layer,
    head,
    ov: Array.from(ov),
    qk: Array.from(qk),
    ov_norm: Math.hypot(...ov),
    qk_norm: Math.hypot(...qk),
  }
}

function caveats(spec: ModelSpec, fold: boolean, crosses: boolean): string[] {
  const { layers } = decoderOf(spec)
  const some = (test: (layer: (typeof layers)[number]) => unknown) => layers.some((layer) => test(layer))
  const before = some(({ norms }) => norms === 'before' || norms === 'both')
  return [
    ...(before
      ? [
          fold
            ? 'The gain of the norm before attention is folded into what heads read; its centring and statistics are not.'
            : 'The gain of the norm before attention is not folded in.',
        ]
      : []),
    ...(some(({ rope }) => rope !== null)
      ? ['Rotary positions make query-key maps depend on distance: these are at offset 0.']
      : []),
    ...(some(({ qkNorm }) => qkNorm)
      ? [
          'Queries and keys are normed before they meet, so a score is not bilinear: query-key values are approximate.',
        ]
      : []),
    ...(some(({ nHeads, nKvHeads }) => nHeads !== nKvHeads)
      ? [
          'Query heads of a group share their keys and values, so their V composition is one and their K alike.',
        ]
      : []),
    ...(some(({ norms }) => norms === 'after' || norms === 'both' || norms === 'sum')
      ? [
          'A norm stands after attention, so what a head writes is rescaled before others read it: approximate.',
        ]
      : []),
    ...(some(({ softcap }) => softcap !== null)
      ? ['Scores are soft-capped: query-key values are approximate.']
      : []),
    ...(some(({ alibi }) => alibi)
      ? ['Scores also hold a bias by distance (ALiBi), which is not in these maps.']
      : []),
    ...(decoderOf(spec).relative
      ? ["Scores also hold a bias by distance (T5's), which is not in these maps."]
      : []),
    ...(crosses
      ? [
          'These are heads of the decoder. Cross-attention makes keys and values from the encoder’s text, so it has spectra and takes no part in composition.',
        ]
      : []),
    'Biases are left out.',
  ]
}
