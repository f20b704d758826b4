/**
 * Identities of gradients through attention, on the mean loss of a prompt:
 *   Σ_j β_j = 0 on each row, taken at hook_attn_scores after the cap
 *   Σ over keys of ∂L/∂hook_rot_k = 0 per key/value head, where no cap stands between
 *   serial block    ∂L/∂resid_pre = ∂L/∂resid_mid + (query + key + value paths of all heads)
 *   parallel block  ∂L/∂resid_pre = ∂L/∂resid_post + attention paths + the MLP's path
 *   normed sums     as serial, with the gradient taken before the norm of the sum
 */
import { blockHook } from '../../graph/hook-names.ts'
import { decoderOf, type LayerSpec } from '../../graph/model-spec.ts'
import type { Tensor } from '../../graph/tensor.ts'
import { type BlockGradients, residualHook } from '../first-principles/gradients.ts'
import { type Check, difference, measured, notApplicable } from './check.ts'
import type { Probe } from './probe.ts'

const ROUTING = 'routing gradients of a row sum to 0'
const KEYS = 'key gradients of a head sum to 0'
const SUM = 'gradient of a block = residual + its paths'

/** Gradients of float32 differ more than values: 2e-4 of the largest. */
const GRADIENT_TOLERANCE = 2e-4

/** All three on every block. */
export async function gradientIdentities(probe: Probe, ids: readonly number[]): Promise<Check[]> {
  const { spec } = probe.model
  const { layers } = decoderOf(spec)
  if (spec.encoderDecoder)
    return [ROUTING, KEYS, SUM].map((name) =>
      notApplicable(name, 'gradients of blocks with cross-attention are not taken apart'),
    )
  if (ids.length < 2)
    return [ROUTING, KEYS, SUM].map((name) => notApplicable(name, 'a prompt of one token has no loss'))
  const blocks = await probe.gradients(ids)
  const capped = layers.every((layer) => layer.softcap !== null)
  let [rows, keys, sums] = [0, 0, 0]
  for (const block of blocks) {
    const layer = layers[block.layer]!
    const at = (name: string) => block.grads.get(blockHook(block.layer, name))!
    rows = larger(rows, lineSums(at('attn.hook_attn_scores')))
    if (layer.softcap === null) keys = larger(keys, keySums(at('attn.hook_rot_k')))
    sums = larger(sums, await blockSum(probe, block, layer))
  }
  return [
    measured(ROUTING, rows, GRADIENT_TOLERANCE),
    capped
      ? notApplicable(KEYS, 'the scores of this family are capped')
      : measured(KEYS, keys, GRADIENT_TOLERANCE),
    measured(SUM, sums, GRADIENT_TOLERANCE),
  ]
}

// --- Internal helpers ---

/** Largest |sum of a row| over the largest entry. */
function lineSums({ data, shape }: Tensor): number {
  const width = shape.at(-1)!
  let worst = 0
  for (let row = 0; row < data.length; row += width) {
    let sum = 0
    for (let j = 0; j < width; j++) sum += data[row + j]!
    worst = larger(worst, Math.abs(sum))
  }
  return overLargest(worst, data)
}

/** Largest |Σ over positions| of [1, pos, kv_head, d_head] over the largest entry. */
function keySums({ data, shape }: Tensor): number {
  const [, rows, heads, width] = shape as [number, number, number, number]
  const step = heads * width
  let worst = 0
  for (let column = 0; column < step; column++) {
    let sum = 0
    for (let pos = 0; pos < rows; pos++) sum += data[pos * step + column]!
    worst = larger(worst, Math.abs(sum))
  }
  return overLargest(worst, data)
}

function overLargest(value: number, data: Float32Array): number {
  const largest = data.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0)
  return Number.isNaN(largest) || largest === 0 ? value : value / largest
}

async function blockSum(probe: Probe, block: BlockGradients, layer: LayerSpec): Promise<number> {
  const name = (local: string) => blockHook(block.layer, local)
  const through = residualHook(layer)
  const paths = [
    'attn.hook_rot_q',
    'attn.hook_rot_k',
    'attn.hook_v',
    ...(layer.parallel ? ['hook_mlp_out'] : []),
  ]
  const total = block.grads.get(name(through))!.data.slice()
  for (const path of paths) {
    const part = await probe.carriedBack(block, name(path))
    for (let i = 0; i < total.length; i++) total[i]! += part[i]!
  }
  return difference(total, block.grads.get(name('hook_resid_pre'))!.data)
}

/** The larger of two, NaN if either is. */
function larger(a: number, b: number): number {
  return Number.isNaN(a) || Number.isNaN(b) ? Number.NaN : Math.max(a, b)
}
