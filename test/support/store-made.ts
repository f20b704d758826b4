/** Made-up captures for tests and benchmarks of the store: no model runs. Seeded, so that two processes agree. */
import type { Tensor } from '../../core/graph/tensor.ts'
import type { Edit, Provenance } from '../../core/run/types.ts'

/** A small generator of numbers in [0, 1): mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/**
 * Causal rows that sum to 1 [batch, head, query, key], 0 beyond each item's length. `even` as untrained heads are;
 * `sharp` with one strong key or two per row, as trained heads are; `window` keeps the last `span` keys.
 */
export function madePattern(
  lengths: readonly number[],
  heads: number,
  seed: number,
  kind: 'even' | 'sharp' | 'window' | 'both-ways' = 'even',
  span = 8,
): Tensor {
  const longest = Math.max(...lengths)
  const random = seeded(seed)
  const data = new Float32Array(lengths.length * heads * longest * longest)
  lengths.forEach((length, item) => {
    for (let head = 0; head < heads; head++) {
      for (let q = 0; q < length; q++) {
        const row = ((item * heads + head) * longest + q) * longest
        const first = kind === 'window' ? Math.max(0, q + 1 - span) : 0
        const end = kind === 'both-ways' ? length : q + 1
        let sum = 0
        for (let k = first; k < end; k++) sum += data[row + k] = 0.5 + random()
        if (kind === 'sharp') sum += data[row + Math.floor(random() * end)]! += sum * (0.5 + random())
        if (kind === 'sharp') sum = data.subarray(row, row + end).reduce((a, b) => a + b, 0)
        for (let k = first; k < end; k++) data[row + k]! /= sum
      }
    }
  })
  return { data, shape: [lengths.length, heads, longest, longest], axes: ['batch', 'head', 'query', 'key'] }
}

/** Numbers in [-1, 1) [batch, pos, d_model], 0 beyond each item's length. */
export function madeResidual(lengths: readonly number[], width: number, seed: number): Tensor {
  const longest = Math.max(...lengths)
  const random = seeded(seed)
  const data = new Float32Array(lengths.length * longest * width)
  lengths.forEach((length, item) => {
    for (let i = 0; i < length * width; i++) data[item * longest * width + i] = 2 * random() - 1
  })
  return { data, shape: [lengths.length, longest, width], axes: ['batch', 'pos', 'd_model'] }
}

/** Token ids, small ones far more often than large ones, as in text. */
export function madeTokens(length: number, seed: number): number[] {
  const random = seeded(seed * 7919 + 17)
  return Array.from({ length }, () => Math.floor(1000 ** random()) - 1)
}

export function madeProvenance(
  contentHash: string | null = 'c0ffee',
  edits: readonly Edit[] = [],
): Provenance {
  return {
    modelPath: '/models/made-up',
    modelName: 'made-up',
    family: 'llama',
    contentHash,
    capture: ['blocks.*.attn.hook_pattern'],
    edits,
    versions: { headscope: '0.1.0', onnxruntime: '1.30.0', node: '24' },
    device: 'cpu',
    dtype: 'f32',
  }
}
