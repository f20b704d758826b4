/**
 * How much there is to move: the size of what each head reads at every position, which turns a pattern into a
 * value-weighted one. In: a prompt. Out: one norm per layer, head and position. Cost: one forward that captures values
 * block by block; with `output` also W_O W_Oᵀ of every head, d_head² d_model a head, and d_head² a position.
 *
 * Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms".
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, parseHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import type { Edit, RunOptions } from '../run/types.ts'
import { createHeadMaps } from './head-maps.ts'

/** value: |v_j|. output: |v_j W_O|, what the head would write if it looked at j alone. */
export type ValueNormKind = 'value' | 'output'

export const VALUE_WEIGHTED: Readonly<Record<ValueNormKind, string>> = {
  value:
    'A[q, k]·|v_k|: the weight times the length of the value that it moves, v = x W_V + b_V of the normed input x. A key that holds attention but has a short value (a sink) weighs little.',
  output:
    'A[q, k]·|f(x_k)|: the weight times the length of what the head would write if it looked at k alone, f(x) = (x W_V + b_V) W_O of the normed input x (Kobayashi et al. 2020). Without b_O, and before a norm that the model puts on what attention writes.',
}

export interface ValueNormOptions {
  readonly kind?: ValueNormKind
  readonly edits?: readonly Edit[]
  /** Reads stored captures for edits `from: {run}`. */
  readonly openRun?: NonNullable<RunOptions['openRun']>
  readonly signal?: AbortSignal
  readonly onProgress?: NonNullable<RunOptions['onProgress']>
}

export interface ValueNorms {
  readonly kind: ValueNormKind
  readonly definition: string
  readonly layers: number
  readonly heads: number
  readonly length: number
  /** [layer, head, pos]; NaN for a head that a layer with fewer heads does not have. */
  readonly data: Float32Array
}

/**
 * Norms of every head's values on one prompt. Heads that share values have equal |v|, not equal |v W_O|. Throws
 * `unsupported` where a decoder reads an encoder, or where the values of an ONNX file are not observable.
 */
export async function valueNorms(
  model: Model,
  ids: readonly number[],
  { kind = 'value', ...options }: ValueNormOptions = {},
): Promise<ValueNorms> {
  if (model.spec.encoderDecoder)
    throw new HeadscopeError(
      'unsupported',
      `Value-weighted patterns are not computed for the family ${model.spec.family}, whose decoder also reads an encoder; look at the weights.`,
    )
  const specs = decoderOf(model.spec).layers
  const hooks = specs.map((_, layer) => blockHook(layer, 'attn.hook_v'))
  const missing = hooks.find((hook) => !model.hooks.some(({ name }) => name === hook))
  if (missing)
    throw new HeadscopeError(
      'unsupported',
      `${missing} is not observable in this model, so its patterns cannot be weighted by values; open the checkpoint's folder.`,
    )
  const maps = kind === 'output' ? createHeadMaps(model.engine()) : null
  const heads = Math.max(...specs.map(({ nHeads }) => nHeads))
  const data = new Float32Array(specs.length * heads * ids.length).fill(Number.NaN)
  await model.run(ids, {
    ...options,
    capture: hooks,
    top: 0,
    onCapture: async (hook, { data: values, shape }) => {
      const layer = parseHook(hook).layer!
      const [, length, kvHeads, dHead] = shape as [number, number, number, number]
      const { nHeads } = specs[layer]!
      const grams = maps && (await maps.outputGrams(layer))
      for (let head = 0; head < nHeads; head++) {
        const kv = Math.floor((head * kvHeads) / nHeads)
        const gram = grams?.subarray(head * dHead * dHead, (head + 1) * dHead * dHead) ?? null
        for (let pos = 0; pos < length; pos++)
          data[(layer * heads + head) * length + pos] = normThrough(
            values,
            (pos * kvHeads + kv) * dHead,
            dHead,
            gram,
          )
      }
    },
  })
  return { kind, definition: VALUE_WEIGHTED[kind], layers: specs.length, heads, length: ids.length, data }
}

/** |v| of `size` values from `at` on, or sqrt(v G vᵀ) through a Gram matrix [size, size]: |v W_O| for G = W_O W_Oᵀ. */
export function normThrough(
  values: ArrayLike<number>,
  at: number,
  size: number,
  gram: ArrayLike<number> | null,
): number {
  let square = 0
  for (let i = 0; i < size; i++) {
    const v = values[at + i]!
    if (!gram) {
      square += v * v
      continue
    }
    let row = 0
    for (let j = 0; j < size; j++) row += gram[i * size + j]! * values[at + j]!
    square += row * v
  }
  return square < 0 ? 0 : Math.sqrt(square) // rounding may take a zero below 0; NaN stays NaN
}
