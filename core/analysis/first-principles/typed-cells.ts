/**
 * Numbers typed into any step of a head → edits of a run. In: the head's run up to that step, and the cells. Out: one
 * edit a step, which sets the rows that were typed into and leaves their other numbers as they are.
 */
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import type { Edit } from '../../run/types.ts'
import type { HeadRun, Rows } from './head-run.ts'
import type { ScoreChanges } from './scores.ts'
import type { Step } from './steps.ts'

/** A number typed into a step, by its name among `headSteps`. */
export interface TypedCell {
  readonly step: string
  readonly row: number
  readonly column: number
  readonly value: number
}

/** A step whose numbers are a hook's. */
interface HookStep {
  readonly name: string
  readonly hook: (run: HeadRun) => string
  readonly rows: (run: HeadRun) => Rows
  /** What chooses the head; nothing where all heads share the numbers. */
  readonly at?: (run: HeadRun) => { head: number } | { kv_head: number }
}

const ofHead = ({ head }: HeadRun) => ({ head })
const ofGroup = ({ kvHead }: HeadRun) => ({ kv_head: kvHead })
/** A hook of the head's own attention. */
const within =
  (name: string) =>
  ({ names }: HeadRun) =>
    `${names.kind}.hook_${name}`

/** Steps before the scores and after them, in the order of the computation. */
export const BEFORE_SCORES: readonly HookStep[] = [
  { name: 'residual', hook: ({ names }) => names.before, rows: (run) => run.resid },
  { name: 'normed', hook: ({ names }) => names.norm, rows: (run) => run.read },
  { name: 'query', hook: within('q'), rows: (run) => run.q, at: ofHead },
  { name: 'key', hook: within('k'), rows: (run) => run.k, at: ofGroup },
  { name: 'value', hook: within('v'), rows: (run) => run.v, at: ofGroup },
  { name: 'query that meets', hook: within('rot_q'), rows: (run) => run.rotQ, at: ofHead },
  { name: 'key that meets', hook: within('rot_k'), rows: (run) => run.rotK, at: ofGroup },
]
export const AFTER_SCORES: readonly HookStep[] = [
  { name: 'weights', hook: within('pattern'), rows: (run) => run.pattern, at: ofHead },
  { name: 'weighted values', hook: within('z'), rows: (run) => run.z, at: ofHead },
  { name: 'output', hook: within('result'), rows: (run) => run.result, at: ofHead },
  { name: 'attention adds', hook: ({ names }) => names.out, rows: (run) => run.attnOut },
  {
    name: 'residual after',
    hook: ({ names }) => names.after,
    rows: (run) => run.after,
  },
]

/** The step of a head over a source that is no hook of the decoder. */
const MEMORY_STEP = 'memory'

type OnTheWay = NonNullable<ScoreChanges['onTheWay']>[number]['at']

const SCORE_STEPS: Readonly<Record<string, OnTheWay | 'finished'>> = {
  scores: 'scaled',
  'placed scores': 'placed',
  'capped scores': 'capped',
  'biased scores': 'biased',
  'masked scores': 'finished',
}

/** Throws `bad-request` for a step that this head does not have, a cell outside it, or a value that is no number. */
export function checkCells(cells: readonly TypedCell[], steps: readonly Step[]): void {
  for (const { step: name, row, column, value } of cells) {
    const step = steps.find((one) => one.name === name)
    if (!step)
      throw new HeadscopeError(
        'bad-request',
        `This head has no step ${JSON.stringify(name)}; its steps are ${steps.map((one) => one.name).join(', ')}.`,
      )
    const inside = [row, column].every(
      (index, axis) => Number.isInteger(index) && index >= 0 && index < step.shape[axis]!,
    )
    if (!inside)
      throw new HeadscopeError(
        'bad-request',
        `The step ${name} is ${step.shape[0]} × ${step.shape[1]}, so it has no cell ${row}, ${column}.`,
      )
    if (!Number.isFinite(value))
      throw new HeadscopeError('bad-request', `What is typed into the step ${name} must be a number.`)
  }
}

/** The typed cells of score steps, beside the other changes of scores. */
export function withScoreCells(changes: ScoreChanges, cells: readonly TypedCell[]): ScoreChanges {
  const own = cells.flatMap(({ step, row, column, value }) => {
    const at = SCORE_STEPS[step]
    return at ? [{ at, query: row, key: column, score: value }] : []
  })
  const finished = own.filter(({ at }) => at === 'finished')
  return {
    ...changes,
    typed: [...(changes.typed ?? []), ...finished],
    onTheWay: own.filter((one): one is typeof one & { at: OnTheWay } => one.at !== 'finished'),
  }
}

/** What the encoder handed over, with its typed numbers; null where none is of this step. */
export function typedMemory(cells: readonly TypedCell[], run: HeadRun): Rows | null {
  const own = cells.filter((cell) => cell.step === MEMORY_STEP)
  if (own.length === 0) return null
  const data = run.keyRead.data.slice()
  for (const { row, column, value } of own) data[row * run.keyRead.width + column] = value
  return { ...run.keyRead, data }
}

/** The edit that puts the cells of one step into a run; null where none is of this step. */
export function cellEdit(step: HookStep, cells: readonly TypedCell[], run: HeadRun): Edit | null {
  const own = cells.filter((cell) => cell.step === step.name)
  if (own.length === 0) return null
  const { data, rows, width } = step.rows(run)
  const values = data.slice()
  for (const { row, column, value } of own) values[row * width + column] = value
  if (step.name === 'normed') ungain(values, width, own, run)
  const places = [...new Set(own.map(({ row }) => row))]
  const isPattern = step.name === 'weights'
  const shape = isPattern || step.at ? [1, ...(isPattern ? [1, rows] : [rows, 1]), width] : [1, rows, width]
  return {
    hook: blockHook(run.layer, step.hook(run)),
    ...step.at?.(run),
    ...(isPattern ? { query: places } : { pos: places }),
    op: 'set',
    from: { values, shape },
  }
}

// --- Internal helpers ---

/** The hook of the norm stands before its gain and bias. */
function ungain(values: Float32Array, width: number, own: readonly TypedCell[], { weights }: HeadRun): void {
  const { norm } = weights
  if (!norm)
    throw new HeadscopeError(
      'bad-request',
      'This family has no norm before attention, so the step normed is the residual itself; type into that.',
    )
  const dead = own.find(({ column }) => norm.gain[column] === 0)
  if (dead)
    throw new HeadscopeError(
      'bad-request',
      `The norm's gain is 0 at d_model ${dead.column}, so no number can stand there but its bias.`,
    )
  for (let i = 0; i < values.length; i++) {
    const d = i % width
    const gain = norm.gain[d]!
    values[i] = gain === 0 ? 0 : (values[i]! - (norm.bias ? norm.bias[d]! : 0)) / gain
  }
}
