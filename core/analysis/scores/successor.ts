/** Successor heads: Monday → Tuesday, 3 → 4. */
import { blockHook } from '../../graph/hook-names.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import { meanScore } from '../bootstrap.ts'
import { multiply } from '../products.ts'
import { weightRows } from '../readout.ts'
import { ORDINALS, wordToken } from '../token-lists.ts'
import type { Score } from '../types.ts'
import { type ComputedScore, noScore } from './score.ts'

/** Pairs of a word and its successor below which there is no score. */
const FEWEST = 20

export const successor: ComputedScore = {
  name: 'successor',
  title: 'Successor',
  definition:
    'Successor score (after Gould et al. 2023): over days, months, numbers and letters that are single tokens, the share of words s for which, among the words of its class, the largest entry of MLP₀(W_E[s]) W_V W_O W_U is at the word after s (norm gains folded in, biases of the head ignored). MLP₀ is the first block’s MLP on the embedding alone.',
  kind: 'weights',
  async heads({ model, maps, seed, signal }) {
    const { layers } = decoderOf(model.spec)
    const none = (why: string, n = 0) =>
      layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => noScore(why, n, n)))
    if (!model.tokenizer) return none('this checkpoint has no tokenizer, so its words are not known')
    const { vocabulary } = maps
    if (typeof vocabulary === 'string') return none(vocabulary)
    const classes = ORDINALS.map((words) => words.map((word) => wordToken(model, word)))
    const known = classes.map((ids) => ids.filter((id) => id !== null))
    const pairs = classes.flatMap((ids, c) =>
      ids.slice(0, -1).flatMap((id, i) => {
        const next = ids[i + 1]!
        return id === null || next === null ? [] : [{ id, next, among: known[c]! }]
      }),
    )
    if (pairs.length < FEWEST)
      return none(`n = ${pairs.length}, needs ${FEWEST} pairs of words that are single tokens`, pairs.length)

    const d = model.spec.dModel
    // The embedding alone: no position, no attention.
    const alone = ['hook_pos_embed', 'blocks.0.hook_attn_out'].filter((hook) =>
      model.hooks.some(({ name }) => name === hook),
    )
    const run = await model.run(
      pairs.map(({ id }) => [id]),
      {
        capture: ['blocks.0.hook_mlp_out'],
        edits: alone.map((hook) => ({ hook, op: 'zero' as const })),
        top: 0,
        ...(signal ? { signal } : {}),
      },
    )
    const inputs = run.get(blockHook(0, 'hook_mlp_out')) // [batch, 1, d_model]
    const engine = model.engine()
    const words = [...new Set(known.flat())]
    const table = (await weightRows(engine, vocabulary.unembedding, words)).data // [words, d_model]
    const rowOf = new Map(words.map((id, i) => [id, i * d]))
    const all: Score[][] = []
    for (const [layer, { nHeads, nKvHeads, dHead }] of layers.entries()) {
      const rows = { data: inputs.data, shape: [1, pairs.length, d] }
      const read = await multiply(engine, rows, await maps.values(layer)) // [kv_head, pairs, d_head]
      const out = await maps.readOutputs(layer)
      const heads: Score[] = []
      for (let head = 0; head < nHeads; head++) {
        const kv = Math.floor(head / (nHeads / nKvHeads))
        const part = read.data.slice(kv * pairs.length * dHead, (kv + 1) * pairs.length * dHead)
        const map = out.data.slice(head * dHead * d, (head + 1) * dHead * d)
        const written = await multiply(
          engine,
          { data: part, shape: [1, pairs.length, dHead] },
          { data: map, shape: [1, dHead, d] },
        )
        if (written.data.every((value) => value === 0)) {
          heads.push(noScore('the head’s value or output weights are all zero, so it writes nothing'))
          continue
        }
        const hits = pairs.map(({ next, among }, i) => {
          const row = written.data.subarray(i * d, (i + 1) * d)
          return largest(among, (id) => dot(row, table, rowOf.get(id)!)) === next ? 1 : 0
        })
        heads.push(meanScore(hits, hits.length, seed))
      }
      all.push(heads)
    }
    return all
  },
}

// --- Internal helpers ---

function largest(ids: readonly number[], value: (id: number) => number): number {
  let best = ids[0]!
  let most = Number.NEGATIVE_INFINITY
  for (const id of ids) {
    const v = value(id)
    if (v > most) [best, most] = [id, v]
  }
  return best
}

function dot(row: Float32Array, table: Float32Array, at: number): number {
  let sum = 0
  for (let i = 0; i < row.length; i++) sum += row[i]! * table[at + i]!
  return sum
}
