/**
 * Identities that hold on every correct run of a checkpoint, whatever its weights. They hold with a wrong rotary base
 * or activation too: only a reference (golden.ts) says "matches". Each function measures one on captured tensors.
 */
import { decoderOf, type NormSpec, ropeAttention } from '../../graph/model-spec.ts'
import type { NormWeights } from '../../graph/norm.ts'
import type { Tensor } from '../../graph/tensor.ts'
import type { Model } from '../../run/model.ts'
import { dependsOnLength } from '../../run/rope-tables.ts'
import { type Block, blocksOf } from './blocks.ts'
import { type Check, difference, measured, notApplicable } from './check.ts'
import type { Probe } from './probe.ts'

type Captures = ReadonlyMap<string, Tensor>

/** Σ over keys of A[q, k] = 1 for every query. */
export function patternRows(model: Model, captures: Captures): Check {
  return overAttention('pattern rows sum to 1', model, (block, kind) => {
    const { data, shape } = captures.get(block.hook(`${kind}.hook_pattern`))!
    const keys = shape.at(-1)!
    let worst = 0
    for (let row = 0; row < data.length / keys; row++) {
      let sum = 0
      for (let key = 0; key < keys; key++) sum += data[row * keys + key]!
      worst = larger(worst, Math.abs(sum - 1))
    }
    return worst
  })
}

/** Each coordinate of o lies between the smallest and the largest visible v. */
export function outputHull(model: Model, captures: Captures): Check {
  return overAttention('o lies between the visible values', model, (block, kind) => {
    const { spec } = block
    const z = captures.get(block.hook(`${kind}.hook_z`))!.data // [1, pos, head, d_head]
    const v = captures.get(block.hook(`${kind}.hook_v`))!.data // [1, pos, kv_head, d_head]
    const pattern = captures.get(block.hook(`${kind}.hook_pattern`))!
    const [queries, keys] = pattern.shape.slice(2) as [number, number]
    const group = spec.nHeads / spec.nKvHeads
    const size = v.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30)
    let worst = 0
    for (let head = 0; head < spec.nHeads; head++)
      for (let query = 0; query < queries; query++)
        for (let d = 0; d < spec.dHead; d++) {
          let low = Number.POSITIVE_INFINITY
          let high = Number.NEGATIVE_INFINITY
          for (let key = 0; key < keys; key++) {
            if (pattern.data[(head * queries + query) * keys + key] === 0) continue
            const value = v[(key * spec.nKvHeads + Math.floor(head / group)) * spec.dHead + d]!
            low = Math.min(low, value)
            high = Math.max(high, value)
          }
          const o = z[(query * spec.nHeads + head) * spec.dHead + d]!
          worst = larger(worst, Math.max(low - o, o - high, 0) / size)
        }
    return worst
  })
}

/** Rotation keeps lengths: over the rotated dimensions |rot_q| = attention factor · |q|. */
export function rotationLengths(model: Model, captures: Captures): Check {
  const name = 'rotary keeps the length of queries'
  const { layers } = decoderOf(model.spec)
  if (model.spec.ropes.length === 0) return notApplicable(name, 'this family has no rotary embedding')
  if (layers.every((layer) => layer.qkNorm))
    return notApplicable(name, 'a norm of queries stands before the rotation')
  return overBlocks(name, model, ({ spec, hook }) => {
    if (spec.rope === null || spec.qkNorm) return 0
    const rope = model.spec.ropes[spec.rope]!
    const factor = ropeAttention(rope)
    const q = captures.get(hook('attn.hook_q'))!.data
    const rotated = captures.get(hook('attn.hook_rot_q'))!.data
    let worst = 0
    for (let at = 0; at < q.length; at += spec.dHead) {
      const before = factor * length(q, at, rope.dims)
      worst = larger(worst, Math.abs(length(rotated, at, rope.dims) - before) / Math.max(before, 1e-30))
    }
    return worst
  })
}

/**
 * resid_post = resid_pre + attn_out + mlp_out in pre-norm and parallel blocks; where each sum is normed,
 * resid_post = norm(norm(resid_pre + attn_out) + mlp_out). A decoder's cross-attention adds its part in between.
 */
export function residualSum(model: Model, captures: Captures): Check {
  const normed = decoderOf(model.spec).layers.some((layer) => layer.norms === 'sum')
  const name = normed
    ? 'resid_post = norm(norm(resid_pre + attn_out) + mlp_out)'
    : 'resid_post = resid_pre + attn_out + mlp_out'
  return overBlocks(name, model, ({ spec, layer, family, kinds, hook }) => {
    const part = (local: string) => captures.get(hook(local))!.data
    const norms = spec.norms === 'sum' ? family.sumNorms!(layer) : null
    const sum = plus(part('hook_resid_pre'), part('hook_attn_out'))
    let mid = norms ? normOf(model, sum, norms.mid) : sum
    if (kinds.includes('cross_attn')) {
      const both = plus(mid, part('hook_cross_attn_out'))
      mid = norms ? normOf(model, both, norms.cross!) : both
    }
    const last = plus(mid, part('hook_mlp_out'))
    return difference(norms ? normOf(model, last, norms.post) : last, part('hook_resid_post'))
  })
}

/** Σ_h result_h + b_O is the attention output, and hook_attn_out = multiplier · post-norm of that. */
export function headSum(model: Model, captures: Captures): Check {
  return overAttention('sum of head results + b_O = attn_out', model, (block, kind) => {
    const { spec, layer, family } = block
    const result = captures.get(block.hook(`${kind}.hook_result`))!.data // [1, pos, head, d_model]
    const out = captures.get(block.hook(`hook_${kind}_out`))!.data
    const name = kind === 'attn' ? family.outputBias(layer) : family.crossOutputBias!(layer)
    const bias = name ? model.weight(name) : null
    const width = model.spec.dModel
    const sum = out.map((_, i) => {
      const pos = Math.floor(i / width)
      const d = i % width
      let total = bias ? bias[d]! : 0
      for (let head = 0; head < spec.nHeads; head++) total += result[(pos * spec.nHeads + head) * width + d]!
      return total
    })
    const given = family.outputNorm ? normOf(model, sum, family.outputNorm(layer)) : sum
    return difference(
      given.map((value) => value * spec.residualScale),
      out,
    )
  })
}

/** Prefill and decode on the cache = one pass. */
export async function decodeEqualsPass(
  probe: Probe,
  captures: Captures,
  ids: readonly number[],
): Promise<Check> {
  const name = 'prefill + decode = one pass'
  const why = looksAhead(probe.model) ?? lengthDependent(probe.model)
  if (why) return notApplicable(name, why)
  return measured(name, difference(await probe.decoded(ids, 3), captures.get('logits')!.data))
}

/** run(prefix) = prefix of run(whole). */
export async function prefix(probe: Probe, captures: Captures, ids: readonly number[]): Promise<Check> {
  const name = 'run(prefix) = prefix of run(whole)'
  const why = looksAhead(probe.model) ?? lengthDependent(probe.model)
  if (why) return notApplicable(name, why)
  const short = (await probe.capture(ids.slice(0, -2))).get('logits')!.data
  return measured(name, difference(short, captures.get('logits')!.data.slice(0, short.length)))
}

/** Moving all positions leaves patterns unchanged where only distances count. */
export async function shift(probe: Probe, captures: Captures, ids: readonly number[]): Promise<Check> {
  const name = 'shifting all positions leaves patterns unchanged'
  const { positional } = probe.model.spec
  if (positional === 'learned') return notApplicable(name, 'learned positions are absolute')
  if (positional === 'sinusoidal') return notApplicable(name, 'sinusoidal positions are absolute')
  const why = lengthDependent(probe.model)
  if (why) return notApplicable(name, why)
  const moved = await probe.shifted(ids, 5)
  const worst = [...moved].reduce(
    (most, [hook, data]) => larger(most, difference(data, captures.get(hook)!.data)),
    0,
  )
  return measured(name, worst)
}

/** A restart from a block border, and from a position, = the full run. */
export async function restarts(probe: Probe, captures: Captures, ids: readonly number[]): Promise<Check[]> {
  const { layers } = decoderOf(probe.model.spec)
  const last = captures.get(blocksOf(probe.model).at(-1)!.hook('hook_resid_post'))!.data
  const layer = Math.floor(layers.length / 2)
  const pos = Math.floor(ids.length / 2)
  const border = difference(await probe.restarted(ids, layer, 0), last)
  const name = 'restart from a position = the full run'
  const why = looksAhead(probe.model)
  const inside = why
    ? notApplicable(name, why)
    : measured(
        name,
        difference(await probe.restarted(ids, layer, pos), last.slice(pos * probe.model.spec.dModel)),
      )
  return [measured('restart from a block border = the full run', border), inside]
}

// --- Internal helpers ---

function overBlocks(name: string, model: Model, error: (block: Block) => number): Check {
  return measured(
    name,
    blocksOf(model).reduce((most, block) => larger(most, error(block)), 0),
  )
}

/** Over every kind of attention of every block. */
function overAttention(
  name: string,
  model: Model,
  error: (block: Block, kind: Block['kinds'][number]) => number,
): Check {
  return overBlocks(name, model, (block) =>
    block.kinds.reduce((most, kind) => larger(most, error(block, kind)), 0),
  )
}

/** The larger of two, NaN if either is. */
function larger(a: number, b: number): number {
  return Number.isNaN(a) || Number.isNaN(b) ? Number.NaN : Math.max(a, b)
}

function plus(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((value, i) => value + b[i]!)
}

/** The norm of each row, in plain arithmetic. */
function normOf(model: Model, x: Float32Array, weights: NormWeights): Float32Array {
  const { norm, dModel } = model.spec
  const gain = weights.gain === null ? null : model.weight(weights.gain)
  const bias = weights.bias ? model.weight(weights.bias) : null
  const out = new Float32Array(x.length)
  for (let at = 0; at < x.length; at += dModel) {
    const row = x.subarray(at, at + dModel)
    const { centre, scale } = moments(row, norm)
    for (let d = 0; d < dModel; d++) {
      const factor = (gain ? gain[d]! : 1) + (norm.gainMinusOne ? 1 : 0)
      out[at + d] = ((row[d]! - centre) / scale) * factor + (bias ? bias[d]! : 0)
    }
  }
  return out
}

function moments(row: Float32Array, { kind, eps }: NormSpec): { centre: number; scale: number } {
  const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0) / values.length
  const centre = kind === 'layer' ? mean(row) : 0
  return { centre, scale: Math.sqrt(mean(row.map((value) => (value - centre) ** 2)) + eps) }
}

function length(data: Float32Array, from: number, count: number): number {
  let sum = 0
  for (let i = from; i < from + count; i++) sum += data[i]! ** 2
  return Math.sqrt(sum)
}

function looksAhead(model: Model): string | null {
  return decoderOf(model.spec).causal ? null : 'this model sees what follows each position'
}

function lengthDependent(model: Model): string | null {
  return model.spec.ropes.some(dependsOnLength)
    ? 'the rotary table of this model changes with the length of the run'
    : null
}
