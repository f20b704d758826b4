/** Prompts of unlike lengths in batches: alike in length, and small enough that patterns of a layer fit. */
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import { batchedIds } from '../run/prompts.ts'

/** Bytes of one layer's patterns that a batch may take. */
const PATTERN_BUDGET = 64 * 1024 * 1024
/** Prompts of one batch, at most. */
const MOST = 64

/** Indices of the prompts, batch by batch; longest first, so that little is padding. */
export function batchesOf(spec: ModelSpec, prompts: readonly (readonly number[])[]): number[][] {
  const heads = Math.max(...decoderOf(spec).layers.map((layer) => layer.nHeads))
  const order = prompts.map((_, i) => i).sort((a, b) => prompts[b]!.length - prompts[a]!.length || a - b)
  const batches: number[][] = []
  while (order.length > 0) {
    const longest = prompts[order[0]!]!.length
    const fits = Math.floor(PATTERN_BUDGET / (4 * heads * longest * longest))
    batches.push(order.splice(0, Math.max(1, Math.min(MOST, fits))))
  }
  return batches
}

/**
 * A long text cut into windows of at most `length` tokens (default: what the model was made for), each with the first
 * token of the text in front where that is BOS. A text that fits stays as it is.
 */
export function windowsOf(
  { spec, tokenizer }: Pick<Model, 'spec' | 'tokenizer'>,
  ids: readonly number[],
  length: number = spec.nCtx,
): number[][] {
  const [own] = batchedIds(ids) // refuses a text or a number in place of a list
  if (ids.length <= length) return [[...own!]]
  const bos = tokenizer !== null && tokenizer.bosId !== null && ids[0] === tokenizer.bosId ? [ids[0]!] : []
  const body = ids.slice(bos.length)
  const step = Math.max(1, length - bos.length)
  const windows: number[][] = []
  for (let first = 0; first < body.length; first += step)
    windows.push([...bos, ...body.slice(first, first + step)])
  return windows
}
