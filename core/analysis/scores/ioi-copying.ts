/** Name movers and negative name movers, as the indirect-object study tells them apart. */
import { blockHook } from '../../graph/hook-names.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import { type Dense, slice } from '../../run/dense.ts'
import { type Engine, runSegment } from '../../run/engine.ts'
import { throwIfCancelled } from '../../run/pass.ts'
import { createPassFeeds } from '../../run/pass-feeds.ts'
import { runUnembed } from '../../run/predictions.ts'
import { stateInput } from '../../run/segments.ts'
import { asFloats } from '../../run/session.ts'
import { meanScore } from '../bootstrap.ts'
import { NAMES, wordToken } from '../token-lists.ts'
import type { Score } from '../types.ts'
import { type ComputedScore, noScore, type ScoreContext } from './score.ts'

/** Names that must be single tokens for a score. */
const FEWEST = 20
const LARGEST = 5

export const ioiCopying: ComputedScore = {
  name: 'ioi_copying',
  title: 'IOI copying',
  definition: definitionOf('the head’s output', 'a name mover scores near 1'),
  kind: 'runs',
  heads: (context) => shares(context, 1),
}

export const ioiNegativeCopying: ComputedScore = {
  name: 'ioi_negative_copying',
  title: 'IOI copying, negative',
  definition: definitionOf('minus the head’s output', 'a negative name mover scores near 1'),
  kind: 'runs',
  heads: (context) => shares(context, -1),
}

// --- Internal helpers ---

function definitionOf(what: string, reading: string): string {
  return `Copying of names (Wang et al. 2022): for each first name that is a single token, after BOS where the tokenizer puts it, the residual after block 0 goes through the head’s norm, W_V and W_O as if the head attended to nothing else; ${what} goes through the final norm and W_U; share of the names that are among their own five largest logits; ${reading}. Biases of the head included. Not for heads of block 0, which stand before that residual.`
}

async function shares({ model, seed, signal }: ScoreContext, sign: 1 | -1): Promise<Score[][]> {
  const { layers } = decoderOf(model.spec)
  const none = (why: string, n = 0) =>
    layers.map(({ nHeads }) => Array.from({ length: nHeads }, () => noScore(why, n, n)))
  if (!model.tokenizer) return none('this checkpoint has no tokenizer, so its names are not known')
  if (model.spec.headTransform) return none('the unembedding of this model stands behind a non-linear layer')
  const names = [...new Set(NAMES.flatMap((name) => wordToken(model, name) ?? []))]
  if (names.length < FEWEST)
    return none(`n = ${names.length}, needs ${FEWEST} names that are single tokens`, names.length)
  const { bosId, addsBos } = model.tokenizer
  const start = addsBos && bosId !== null ? [bosId] : []
  const prompts = names.map((name) => [...start, name])
  const after = blockHook(0, 'hook_resid_post')
  const run = await model.run(prompts, { capture: [after], top: 0, ...(signal ? { signal } : {}) })
  const resid = slice(run.get(after), 1, start.length, start.length + 1) // [names, 1, d_model]
  const engine = model.engine()
  const all: Score[][] = [
    Array.from({ length: layers[0]!.nHeads }, () =>
      noScore('heads of block 0 stand before the residual that this score starts from'),
    ),
  ]
  for (let layer = 1; layer < layers.length; layer++) {
    const { nHeads } = layers[layer]!
    throwIfCancelled(signal)
    // One position alone: the head attends to it with weight 1, so its result is what it copies.
    const written = await resultsOf(engine, layer, resid)
    const d = model.spec.dModel
    const heads: Score[] = []
    for (let head = 0; head < nHeads; head++) {
      const data = new Float32Array(names.length * d)
      names.forEach((_, i) => {
        for (let k = 0; k < d; k++) data[i * d + k] = sign * written[(i * nHeads + head) * d + k]!
      })
      if (data.every((value) => value === 0)) {
        heads.push(noScore('the head writes nothing'))
        continue
      }
      const { predictions } = await runUnembed(engine, {
        resid: { data, shape: [names.length, 1, d] },
        start: 0,
        targets: names.map(() => [null]),
        top: LARGEST,
        wanted: new Set(),
        edits: [],
      })
      const hits = names.map((name, i) => (predictions[i]![0]!.top.some(({ id }) => id === name) ? 1 : 0))
      heads.push(meanScore(hits, hits.length, seed))
    }
    all.push(heads)
  }
  return all
}

/** hook_result [names, 1, head, d_model] of one block on given residuals; nothing else of the block is computed. */
async function resultsOf(engine: Engine, layer: number, resid: Dense): Promise<Float32Array> {
  const batch = resid.shape[0]!
  const { nKvHeads, dHead } = decoderOf(engine.model.spec).layers[layer]!
  const ids = Array.from({ length: batch }, () => [0])
  const pass = { ids, lengths: ids.map(() => 1), start: 0, total: 1 }
  const window = { start: 0, rows: 1, keys: 1 }
  const feeds = new Map(
    createPassFeeds(engine, pass).block(decoderOf(engine.model.spec).layers[layer]!, window),
  )
  const none = { data: new Float32Array(0), shape: [batch, nKvHeads, 0, dHead] }
  feeds.set('past_k', none).set('past_v', none)
  for (const part of Object.keys(engine.model.state)) feeds.set(stateInput(part), resid)
  const hook = blockHook(layer, 'attn.hook_result')
  return asFloats((await runSegment(engine, layer, [hook], [], feeds)).get(hook)!).data
}
