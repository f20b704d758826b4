/** A random Llama written to a folder, so that benchmarks need no download. Weights are the same for the same seed. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeSafetensors } from '../../core/checkpoint/index.ts'
import { readFamily } from '../../core/families/index.ts'
import { createRandom } from '../../core/random.ts'

export interface LlamaSize {
  readonly layers: number
  readonly heads: number
  readonly kvHeads: number
  readonly width: number
  readonly mlp: number
  readonly vocab: number
  readonly positions: number
}

/** 12 layers × 12 heads, d_model 768: the size of GPT-2 small. */
export const CLASS_100M: LlamaSize = {
  layers: 12,
  heads: 12,
  kvHeads: 12,
  width: 768,
  mlp: 2048,
  vocab: 32_000,
  positions: 2048,
}

/** Writes the checkpoint; returns its bytes. */
export function writeRandomLlama(
  folder: string,
  size: LlamaSize,
  seed = 1,
  dtype: 'F32' | 'F16' = 'F32',
): number {
  const config = {
    model_type: 'llama',
    vocab_size: size.vocab,
    hidden_size: size.width,
    intermediate_size: size.mlp,
    num_hidden_layers: size.layers,
    num_attention_heads: size.heads,
    num_key_value_heads: size.kvHeads,
    max_position_embeddings: size.positions,
    tie_word_embeddings: false,
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
  const { plan } = readFamily(config)
  const random = createRandom(seed)
  let bytes = 0
  const tensors = plan.wanted.map((tensor) => {
    const count = tensor.shape.reduce((a, b) => a * b, 1)
    const isGain = tensor.role === 'norm'
    const scale = isGain ? 0 : 2 / Math.sqrt(size.width)
    const chunk = Math.min(count, 1 << 18)
    bytes += (dtype === 'F32' ? 4 : 2) * count
    return {
      name: tensor.name === 'lm_head.weight' ? tensor.name : `model.${tensor.name}`,
      shape: tensor.shape,
      dtype,
      data: function* () {
        for (let at = 0; at < count; at += chunk) {
          const n = Math.min(chunk, count - at)
          const values =
            dtype === 'F32'
              ? Float32Array.from({ length: n }, () => (isGain ? 1 : 0) + scale * (random.next() - 0.5))
              : Uint16Array.from({ length: n }, () => (isGain ? ONE_F16 : randomHalf(random.below(65_536))))
          yield new Uint8Array(values.buffer)
        }
      },
    }
  })
  writeSafetensors(join(folder, 'model.safetensors'), tensors)
  return bytes
}

// --- Internal helpers ---

const ONE_F16 = 0x3c00

/** Any sign and fraction, the exponent of 1/64: float16 numbers of about the size of a weight. */
function randomHalf(bits: number): number {
  return (bits & 0x83ff) | 0x2400
}
