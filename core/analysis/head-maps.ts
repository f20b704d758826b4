/**
 * A head's value and output maps with the norms around them folded in: gain and centring of the norm that attention
 * reads, of the final norm for what the unembedding sees. Made once a layer and kept: as much memory as the matrices.
 */

import { encode } from '../graph/encode.ts'
import type { Dense } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import { buildSegment } from '../run/segments.ts'
import { asFloats } from '../run/session.ts'
import { headWeights } from './head-weights.ts'

const HEAD_IN = 'unembed.hook_in'

export interface HeadMaps {
  /** Centring · gain of the norm that attention reads · W_V, without b_V: [kv_head, d_model, d_head]. */
  values(layer: number): Promise<Dense>
  /** W_O: [head, d_head, d_model]. */
  outputs(layer: number): Promise<Dense>
  /** W_O · centring · gain of the final norm: what of a head's output the unembedding sees. [head, d_head, d_model] */
  readOutputs(layer: number): Promise<Dense>
  /** W_O W_Oᵀ: the square of |z W_O| is z G zᵀ. [head, d_head, d_head] */
  outputGrams(layer: number): Promise<Float64Array>
  /** Tensors of embedding and unembedding [d_vocab, d_model], or why a product with them would not be the model's. */
  readonly vocabulary: { readonly embedding: string; readonly unembedding: string } | string
}

/** The maps of an engine's model. */
export function createHeadMaps(engine: Engine): HeadMaps {
  const { spec } = engine.model
  const final = engine.hooks.find(
    ({ name, segment }) => segment === 'unembed' && name.endsWith('ln_final.hook_normalized'),
  )?.name
  const centres = spec.norm.kind === 'layer'
  const weights = perLayer((layer) => headWeights(engine, layer))

  const values = perLayer(async (layer) => {
    const { v, norm, dModel, nKvHeads, dHead } = await weights(layer)
    const map = new Float32Array(v.length)
    for (let kv = 0; kv < nKvHeads; kv++)
      for (let d = 0; d < dModel; d++) {
        const gain = norm ? norm.gain[d]! : 1
        for (let i = 0; i < dHead; i++)
          map[(kv * dModel + d) * dHead + i] = gain * v[(d * nKvHeads + kv) * dHead + i]!
      }
    const shape = [nKvHeads, dModel, dHead]
    return { data: norm && centres ? centredColumns(map, shape) : map, shape }
  })

  const outputs = perLayer(async (layer) => {
    const { o, nHeads, dHead, dModel } = await weights(layer)
    return { data: o, shape: [nHeads, dHead, dModel] }
  })

  let gain: Promise<Float32Array> | null = null
  /** Gain of the final norm [d_model]; ones where there is none. */
  const finalGain = () => {
    gain ??= final
      ? afterFinalNorm(engine, final, zerosAndOnes(spec.dModel)).then(({ data, shape }) => {
          const width = shape.at(-1)!
          return Float32Array.from({ length: width }, (_, i) => data[width + i]! - data[i]!)
        })
      : Promise.resolve(new Float32Array(spec.dModel).fill(1))
    return gain
  }

  const readOutputs = perLayer(async (layer) => {
    const { data, shape } = await outputs(layer)
    const scale = await finalGain()
    const width = shape[2]!
    const map = Float32Array.from(data)
    const centred = centres && final !== undefined
    for (let row = 0; row < map.length; row += width) {
      let mean = 0
      if (centred) for (let d = 0; d < width; d++) mean += map[row + d]! / width
      for (let d = 0; d < width; d++) map[row + d] = (map[row + d]! - mean) * scale[d]!
    }
    return { data: map, shape }
  })

  const outputGrams = perLayer(async (layer) => {
    const { data, shape } = await outputs(layer)
    const [heads, dHead, width] = shape as [number, number, number]
    const grams = new Float64Array(heads * dHead * dHead)
    for (let head = 0; head < heads; head++)
      for (let i = 0; i < dHead; i++)
        for (let j = 0; j <= i; j++) {
          let sum = 0
          const a = (head * dHead + i) * width
          const b = (head * dHead + j) * width
          for (let d = 0; d < width; d++) sum += data[a + d]! * data[b + d]!
          grams[(head * dHead + i) * dHead + j] = sum
          grams[(head * dHead + j) * dHead + i] = sum
        }
    return grams
  })

  return { values, outputs, readOutputs, outputGrams, vocabulary: vocabularyOf(engine) }
}

// --- Internal helpers ---

function perLayer<T>(make: (layer: number) => Promise<T>): (layer: number) => Promise<T> {
  const made = new Map<number, Promise<T>>()
  return (layer) => {
    const known = made.get(layer) ?? make(layer)
    made.set(layer, known)
    return known
  }
}

function vocabularyOf(engine: Engine): HeadMaps['vocabulary'] {
  const { spec, head, plan } = engine.model
  if (spec.headTransform) return 'the unembedding of this model stands behind a non-linear layer'
  for (const name of [head.embedding, engine.matrix]) {
    const shape = plan.wanted.find((tensor) => tensor.name === name)?.shape
    if (shape?.[1] !== spec.dModel)
      return 'the embedding of this model is not as wide as its residual stream, so W_E and W_U are not one matrix each'
  }
  return { embedding: head.embedding, unembedding: engine.matrix }
}

/** The input of the unembedding [1, rows, width] when `value` stands where the final norm has normalised. */
async function afterFinalNorm(engine: Engine, place: string, value: Dense): Promise<Dense> {
  const outputs = await engine.pool.run(
    `after ${place}`,
    () => {
      const graph = buildSegment(engine.model, 'unembed', engine.matrix, new Set([place]))
      const inputs = [...graph.inputs, { name: 'given', dtype: 'f32' as const, rank: 3 }]
      const nodes = graph.nodes.map((node) =>
        node.domain === 'hook' && node.op === place ? { ...node, inputs: ['given'] } : node,
      )
      return encode({ ...graph, inputs, nodes }, [HEAD_IN], engine.weights)
    },
    new Map([['given', value]]),
  )
  return asFloats(outputs.get(HEAD_IN)!)
}

function zerosAndOnes(d: number): Dense {
  return { data: new Float32Array(2 * d).fill(1, d), shape: [1, 2, d] }
}

/** x → x − mean(x) in front of each map [n, d_model, d_head]: its columns lose their mean. */
function centredColumns(map: Float32Array, shape: readonly number[]): Float32Array {
  const [count, d, width] = shape as [number, number, number]
  for (let n = 0; n < count; n++)
    for (let i = 0; i < width; i++) {
      let mean = 0
      for (let row = 0; row < d; row++) mean += map[(n * d + row) * width + i]! / d
      for (let row = 0; row < d; row++) map[(n * d + row) * width + i]! -= mean
    }
  return map
}
