/** Copying in the activations: does what a head moves from a token raise that token's own logit? */
import { blockHook, parseHook } from '../../graph/hook-names.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import { meanScore } from '../bootstrap.ts'
import type { Score } from '../types.ts'
import { type ComputedScore, noScore } from './score.ts'

/** Sequences that are run: each gives a value per head. */
const SEQUENCES = 8

export const olssonCopying: ComputedScore = {
  name: 'copying_evaluator',
  title: 'Copying (evaluator)',
  definition:
    'Copying after the evaluator of Olsson et al. 2022: for each source token of 25 random tokens (repeated 4 times) the head’s value vector is sent through W_O, the final norm’s gain and W_U; the mean over the vocabulary is subtracted and what is negative dropped; the share of the rise that the token itself has among the sequence’s different tokens, mean over sources, rescaled to [−1, 1] as 2·share − 1. Attention does not enter: it is what the head would write if it attended there.',
  kind: 'runs',
  async heads({ model, maps, sequences, seed, signal }) {
    const { layers } = decoderOf(model.spec)
    const none = (why: string) =>
      layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => noScore(why)))
    const drawn = sequences('four_copies')
    if (typeof drawn === 'string') return none(drawn)
    const { vocabulary } = maps
    if (typeof vocabulary === 'string') return none(vocabulary)
    const chosen = drawn.slice(0, SEQUENCES)
    const d = model.spec.dModel
    const table = centredRows(model.weight(vocabulary.unembedding), d)
    const perSequence = layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => [] as number[]))
    for (const { ids, offset, length } of chosen) {
      const tokens = ids.slice(offset, offset + length)
      const directions = tokens.map((id) => table(id))
      await model.run(ids, {
        capture: layers.map((_, layer) => blockHook(layer, 'attn.hook_v')),
        top: 0,
        ...(signal ? { signal } : {}),
        onCapture: async (hook, values) => {
          const layer = parseHook(hook).layer!
          const { nHeads, nKvHeads, dHead } = layers[layer]!
          const out = await maps.readOutputs(layer)
          for (let head = 0; head < nHeads; head++) {
            const map = out.data.subarray(head * dHead * d, (head + 1) * dHead * d)
            const kv = Math.floor(head / (nHeads / nKvHeads))
            const reading = directions.map((direction) => through(map, direction, dHead, d)) // [token][d_head]
            const shares: number[] = []
            for (let pos = offset; pos < ids.length; pos++) {
              const value = values.data.subarray(
                (pos * nKvHeads + kv) * dHead,
                (pos * nKvHeads + kv + 1) * dHead,
              )
              const rises = reading.map((row) => Math.max(0, dot(row, value)))
              const total = rises.reduce((a, b) => a + b, 0)
              if (total > 0) shares.push(rises[(pos - offset) % length]! / total)
            }
            if (shares.length > 0)
              perSequence[layer]![head]!.push((2 * shares.reduce((a, b) => a + b, 0)) / shares.length - 1)
          }
        },
      })
    }
    const rows = chosen.reduce((sum, { ids, offset }) => sum + ids.length - offset, 0)
    return perSequence.map((heads) =>
      heads.map(
        (values): Score =>
          values.length === 0
            ? noScore(
                'the head raises no token of the sequence: it writes nothing that the unembedding reads',
              )
            : meanScore(values, rows, seed),
      ),
    )
  },
}

// --- Internal helpers ---

/** Rows of W_U minus their mean over the vocabulary: [d_vocab, d_model] → row of a token. */
function centredRows(table: Float32Array, d: number): (id: number) => Float64Array {
  const mean = new Float64Array(d)
  const count = table.length / d
  for (let at = 0; at < table.length; at += d) for (let i = 0; i < d; i++) mean[i]! += table[at + i]! / count
  return (id) => Float64Array.from({ length: d }, (_, i) => table[id * d + i]! - mean[i]!)
}

/** map [d_head, d] · direction [d] → [d_head] */
function through(map: Float32Array, direction: Float64Array, dHead: number, d: number): Float64Array {
  const result = new Float64Array(dHead)
  for (let i = 0; i < dHead; i++) {
    let sum = 0
    for (let k = 0; k < d; k++) sum += map[i * d + k]! * direction[k]!
    result[i] = sum
  }
  return result
}

function dot(a: Float64Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
