/**
 * A head opened like a machine: its steps in order, each with formula, shape, axes and the real numbers. In: a head's
 * run. Out: plain data for a view; nothing is rounded. `columns` of the lecture layout are queries: a view transposes
 * the grids whose axes are query and key.
 */
import type { ModelSpec } from '../../graph/model-spec.ts'
import type { HeadRun, Rows } from './head-run.ts'
import { type ScoreChanges, scoreSteps } from './scores.ts'

export interface Step {
  readonly name: string
  readonly formula: string
  readonly axes: readonly [string, string]
  readonly shape: readonly [number, number]
  /** Row-major; a hidden score is null. */
  readonly values: readonly (number | null)[]
  /** What this family does here that the plain lecture does not. */
  readonly note?: string
}

/** The steps of one head; `changes` are those with which its scores were made. */
export function headSteps(spec: ModelSpec, run: HeadRun, changes: ScoreChanges = {}): Step[] {
  const { spec: layer, weights } = run
  const scores = scoreSteps(spec, run, changes)
  const { cross = false } = run
  const keyAxis = cross ? 'source' : 'key'
  const keysOf = cross ? 'source' : 'pos'
  const from = cross ? 'm' : 'x'
  const square = (name: string, formula: string, values: ArrayLike<number>, note?: string): Step => ({
    name,
    formula,
    axes: ['query', keyAxis],
    shape: [run.rotQ.rows, run.rotK.rows],
    values: Array.from(values, (value) => (Number.isFinite(value) ? value : null)),
    ...(note ? { note } : {}),
  })
  const rows = (
    name: string,
    formula: string,
    axis: string,
    own: Rows,
    note?: string,
    of: 'pos' | 'source' = 'pos',
  ): Step => ({
    name,
    formula,
    axes: [of, axis],
    shape: [own.rows, own.width],
    values: Array.from(own.data),
    ...(note ? { note } : {}),
  })
  const turned = layer.rope !== null || layer.qkNorm !== null
  const notes = [
    layer.qkNorm ? `normed over ${layer.qkNorm === 'head' ? 'each head' : 'the whole projection'}` : '',
    layer.rope === null ? '' : 'rotated by position',
  ].filter((note) => note !== '')
  return [
    rows('residual', 'x', 'd_model', run.resid),
    rows(
      'normed',
      weights.norm ? `${spec.norm.kind === 'layer' ? 'LayerNorm' : 'RMSNorm'}(x)` : 'x',
      'd_model',
      run.read,
      weights.norm ? undefined : 'this family has no norm before attention',
    ),
    ...(cross
      ? [
          rows(
            'memory',
            'm',
            'd_model',
            run.keyRead,
            'what the encoder handed over; every head over the source reads it',
            'source',
          ),
        ]
      : []),
    rows('query', 'q = x W_Q + b_Q', 'd_head', run.q),
    rows('key', `k = ${from} W_K + b_K`, 'd_head', run.k, sharing(run), keysOf),
    rows('value', `v = ${from} W_V + b_V`, 'd_head', run.v, sharing(run), keysOf),
    ...(turned
      ? [
          rows('query that meets', 'q̃', 'd_head', run.rotQ, notes.join(', ')),
          rows('key that meets', 'k̃', 'd_head', run.rotK, notes.join(', ')),
        ]
      : []),
    square(
      'scores',
      `s = ${layer.scoreScale.toPrecision(4)} · q·k`,
      scores.scaled,
      `the scale is ${layer.scoreScale.toPrecision(6)}; 1/√d_k is ${(1 / Math.sqrt(layer.dHead)).toPrecision(6)}`,
    ),
    ...(layer.alibi ? [square('placed scores', 's + slope · key position', scores.placed)] : []),
    ...(layer.softcap === null
      ? []
      : [square('capped scores', `${layer.softcap} tanh(s / ${layer.softcap})`, scores.capped)]),
    ...(run.distances
      ? [square('biased scores', 's + bias of the distance', scores.biased, 'one number a head and distance')]
      : []),
    square(
      'masked scores',
      's + M',
      run.scores.data,
      cross ? 'the source has no padding, so M is 0 everywhere' : 'a hidden key has no score',
    ),
    square('weights', 'α = softmax(s)', shownWeights(run)),
    rows('weighted values', 'o_i = Σ_j α_ij v_j', 'd_head', run.z),
    rows('output', 'o W_O', 'd_model', run.result),
    rows('attention adds', 'Σ_h o_h W_O + b_O', 'd_model', run.attnOut, adding(run)),
    rows('residual after', layer.norms === 'sum' ? 'norm(x + attention)' : 'x + …', 'd_model', run.after),
  ]
}

// --- Internal helpers ---

/** A weight where the score is hidden does not exist, unless it was typed. */
function shownWeights({ pattern, scores }: HeadRun): Float64Array {
  return Float64Array.from(pattern.data, (weight, n) =>
    weight === 0 && scores.data[n] === Number.NEGATIVE_INFINITY ? Number.NaN : weight,
  )
}

function sharing({ spec, kvHead }: HeadRun): string | undefined {
  const group = spec.nHeads / spec.nKvHeads
  return group === 1 ? undefined : `key/value head ${kvHead}, shared by ${group} query heads`
}

function adding({ spec }: HeadRun): string | undefined {
  const parts = [
    spec.norms === 'after' || spec.norms === 'both' ? 'a norm follows the sum' : '',
    spec.residualScale === 1 ? '' : `multiplied by ${spec.residualScale}`,
    spec.parallel ? 'the MLP reads the same residual' : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? undefined : parts.join('; ')
}
