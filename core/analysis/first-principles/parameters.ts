/**
 * Gradients of one head's W_Q, W_K, W_V, W_O under a metric. In: a block's gradients and a head's run. Out: matrices in
 * the orientation q = x W_Q. W_K and W_V are shared inside a group of query heads, so theirs are the group's.
 *   ∂L/∂W_Q = Σ_i x_iᵀ ∂L/∂q_i,   ∂L/∂W_O = Σ_i z_iᵀ ∂L/∂(z W_O)_i,   the same for K and V
 */
import { blockHook } from '../../graph/hook-names.ts'
import { type Matrix, matrix, multiply, transpose } from '../matrix.ts'
import type { BlockGradients } from './gradients.ts'
import { type HeadRun, headRows, type Rows } from './head-run.ts'

export interface ParameterGradients {
  readonly q: Matrix // [d_model, d_head]
  readonly k: Matrix // [d_model, d_head], of the shared key head
  readonly v: Matrix // [d_model, d_head], of the shared value head
  readonly o: Matrix // [d_head, d_model]
}

/** The four gradients. */
export function parameterGradients(block: BlockGradients, run: HeadRun): ParameterGradients {
  const grad = (name: string, head: number) => headRows(block.grads.get(blockHook(run.layer, name))!, head)
  const projected = (letter: 'q' | 'k' | 'v', head: number) =>
    multiply(
      transpose(asMatrix(letter === 'q' ? run.read : run.keyRead)),
      asMatrix(unclipped(grad(`${run.names.kind}.hook_${letter}`, head), run[letter], letter, run)),
    )
  return {
    q: projected('q', run.head),
    k: projected('k', run.kvHead),
    v: projected('v', run.kvHead),
    o: multiply(transpose(asMatrix(run.z)), asMatrix(grad(`${run.names.kind}.hook_result`, run.head))),
  }
}

// --- Internal helpers ---

function asMatrix({ data, rows, width }: Rows): Matrix {
  return matrix(rows, width, data)
}

/** What lies at a clip does not move. Where queries and keys are normed their clip stands later. */
function unclipped(grad: Rows, values: Rows, letter: 'q' | 'k' | 'v', { spec }: HeadRun): Rows {
  const { clip } = spec
  if (clip === null || (spec.qkNorm && letter !== 'v')) return grad
  return { ...grad, data: grad.data.map((value, i) => (Math.abs(values.data[i]!) < clip ? value : 0)) }
}
