/** Of how many tokens does the whole OV circuit raise the token itself most, or among its five largest? */
import { decoderOf } from '../../graph/model-spec.ts'
import { createRandom } from '../../random.ts'
import { throwIfCancelled } from '../../run/pass.ts'
import { meanScore } from '../bootstrap.ts'
import { largestProducts, multiply } from '../products.ts'
import { weightRows } from '../readout.ts'
import { ordinaryIds } from '../sequences.ts'
import type { Score } from '../types.ts'
import { type ComputedScore, noScore, type ScoreContext } from './score.ts'

/** Rows of the vocabulary that are looked at: all of a small one, else as many at random. */
const ALL = 2048
const SAMPLE = 128
const LARGEST = 5
/** A largest entry below this share of the vector that is read is rounding. */
const NOTHING = 1e-6

export const ovTop1: ComputedScore = {
  name: 'ov_top1',
  title: 'OV copies (top 1)',
  definition: definitionOf('the token itself has the largest entry'),
  kind: 'weights',
  heads: (context) => shares(context, 1),
}

export const ovTop5: ComputedScore = {
  name: 'ov_top5',
  title: 'OV copies (top 5)',
  definition: definitionOf('the token itself is among the five largest entries'),
  kind: 'weights',
  heads: (context) => shares(context, LARGEST),
}

// --- Internal helpers ---

function definitionOf(what: string): string {
  return `Share of the tokens t for which, in the row W_E[t] W_V W_O W_U of the full OV circuit, ${what} (norm gains folded in, biases ignored); of all ordinary tokens of a vocabulary up to ${ALL}, else of ${SAMPLE} drawn at random.`
}

/** Both scores ask for the same products: they are made once a scan. */
const made = new WeakMap<ScoreContext, Promise<number[][][] | string>>()

async function shares(context: ScoreContext, count: number): Promise<Score[][]> {
  const known = made.get(context) ?? ranks(context)
  made.set(context, known)
  const found = await known
  return decoderOf(context.model.spec).layers.map(({ nHeads }, layer) =>
    Array.from({ length: nHeads }, (_, head) => {
      if (typeof found === 'string') return noScore(found)
      const ranksOfHead = found[layer]![head]!
      if (ranksOfHead.length === 0) return noScore('the head writes nothing that the unembedding reads')
      const hits = ranksOfHead.map((rank) => (rank >= 0 && rank < count ? 1 : 0))
      return meanScore(hits, hits.length, context.seed)
    }),
  )
}

/** [layer][head][token]: place of the token among the five largest, or -1; no tokens for a head that writes nothing. */
async function ranks({ model, maps, seed, signal }: ScoreContext): Promise<number[][][] | string> {
  const { vocabulary } = maps
  if (typeof vocabulary === 'string') return vocabulary
  const engine = model.engine()
  const ids = sampleOf(ordinaryIds(model), seed)
  const d = model.spec.dModel
  const rows = await weightRows(engine, vocabulary.embedding, ids) // [tokens, d_model]
  const count = Math.min(LARGEST, model.spec.dVocab)
  const all: number[][][] = []
  for (const [layer, { nHeads, nKvHeads, dHead }] of decoderOf(model.spec).layers.entries()) {
    const values = await maps.values(layer)
    const read = await multiply(engine, { data: rows.data, shape: [1, ids.length, d] }, values) // [kv_head, tokens, d_head]
    const out = await maps.readOutputs(layer)
    const heads: number[][] = []
    for (let head = 0; head < nHeads; head++) {
      throwIfCancelled(signal)
      const kv = Math.floor(head / (nHeads / nKvHeads))
      const part = read.data.slice(kv * ids.length * dHead, (kv + 1) * ids.length * dHead)
      const map = out.data.slice(head * dHead * d, (head + 1) * dHead * d)
      const written = await multiply(
        engine,
        { data: part, shape: [1, ids.length, dHead] },
        { data: map, shape: [1, dHead, d] },
      )
      if (written.data.every((value) => value === 0)) {
        heads.push([])
        continue
      }
      const largest = await largestProducts(engine, written, vocabulary.unembedding, count)
      const strength = (i: number) => Math.hypot(...written.data.subarray(i * d, (i + 1) * d))
      const raises = (i: number) => Math.abs(largest.values[i * count]!) > NOTHING * strength(i)
      if (!ids.some((_, i) => raises(i))) {
        heads.push([])
        continue
      }
      heads.push(
        ids.map((id, i) => {
          if (!raises(i)) return -1
          for (let k = 0; k < count; k++) if (Number(largest.rows[i * count + k]) === id) return k
          return -1
        }),
      )
    }
    all.push(heads)
  }
  return all
}

function sampleOf(ids: number[], seed: number): number[] {
  if (ids.length <= ALL) return ids
  const random = createRandom(seed)
  for (let i = 0; i < SAMPLE; i++) {
    const j = i + random.below(ids.length - i)
    ;[ids[i], ids[j]] = [ids[j]!, ids[i]!]
  }
  return ids.slice(0, SAMPLE)
}
