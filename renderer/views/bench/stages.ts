/**
 * The steps of a head as they are shown. In: the steps of the engine, and the steps again where something is changed.
 * Out: a stage per step with the grid before and after, in the app's layout or the lecture's, where states are columns.
 */
import type { Step } from '../../../core/analysis/first-principles/index.ts'
import type { BenchEditReply, GridReply } from '../../../core/api/contract.ts'
import { extent, type Scale, transposed } from './matrix.ts'

export interface Stage {
  readonly name: string
  readonly formula: string
  readonly note: string | null
  /** Names of rows and columns. */
  readonly axes: readonly [string, string]
  readonly before: GridReply
  /** With the changes; null where they do not reach this step. */
  readonly after: GridReply | null
  readonly scale: Scale
  /** What the strongest colour stands for, and the largest magnitude. */
  readonly end: number
  readonly largest: number
}

/** Differences below this share of a step's largest number are what another order of sums makes. */
const NOISE = 1e-5

/** Steps in the lecture's notation: states are columns. */
const LECTURE: Readonly<Record<string, string>> = {
  residual: 'H',
  query: 'Q = W_Q H + b_Q',
  key: 'K = W_K H + b_K',
  value: 'V = W_V H + b_V',
  'query that meets': 'Q̃',
  'key that meets': 'K̃',
  'masked scores': 'S = … + M',
  weights: 'A = softmax of each column',
  'weighted values': 'O = V A',
  output: 'W_O O',
  'attention adds': 'Σ_h W_O O_h + b_O',
}

export function stagesOf(steps: readonly Step[], edit: BenchEditReply | null, lecture: boolean): Stage[] {
  return steps.map((step) => {
    const before = { shape: step.shape, values: step.values }
    const again = edit?.steps.find((one) => one.name === step.name)
    const after = again && differs(step, again) ? { shape: again.shape, values: again.values } : null
    const turn = (grid: GridReply) => (lecture ? transposed(grid) : grid)
    const scale = step.name === 'weights' ? 'weight' : 'signed'
    const { end, largest } = extent(after ? [...before.values, ...after.values] : before.values)
    return {
      name: step.name,
      formula: lecture ? lectureFormula(step) : step.formula,
      note: step.note ?? null,
      axes: lecture ? [step.axes[1], step.axes[0]] : step.axes,
      before: turn(before),
      after: after && turn(after),
      scale,
      end: scale === 'weight' ? 1 : end,
      largest,
    }
  })
}

/** Whether the changes reach a step: by more than rounding, or by what is hidden. */
export function differs(before: Step, after: Step): boolean {
  const { largest } = extent(before.values)
  return before.values.some((value, n) => {
    const other = after.values[n] ?? null
    if (value === null || other === null) return value !== other
    return Math.abs(other - value) > NOISE * largest
  })
}

/** Whether an axis counts tokens, and so has their words as labels. */
export function countsTokens(axis: string): boolean {
  return ['pos', 'query', 'key', 'target', 'source'].includes(axis)
}

/** Keys and values of a head over a source are made of what the encoder handed over. */
const OVER_SOURCE: Readonly<Record<string, string>> = {
  memory: 'M',
  key: 'K = W_K M + b_K',
  value: 'V = W_V M + b_V',
}

function lectureFormula({ name, formula, axes }: Step): string {
  if (axes[0] === 'source' && OVER_SOURCE[name]) return OVER_SOURCE[name]
  return LECTURE[name] ?? formula.replace('q·k', 'KᵀQ').replaceAll(/\bx\b/g, 'H')
}
