/**
 * Steps of a head changed, and everything downstream run again: numbers typed into any step, a temperature, no mask, no
 * √d_k. In: changes. Out: the head before and after, every step of it, and what the model then says. Cost: two forwards
 * and two predictions, and one forward more for each further step that is typed into.
 */
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import type { Model } from '../../run/model.ts'
import type { Edit, Prediction } from '../../run/types.ts'
import { type HeadPlace, type HeadRun, headRun } from './head-run.ts'
import { type ScoreChanges, scoreSteps } from './scores.ts'
import { headSteps, type Step } from './steps.ts'
import {
  AFTER_SCORES,
  BEFORE_SCORES,
  cellEdit,
  checkCells,
  type TypedCell,
  typedMemory,
  withScoreCells,
} from './typed-cells.ts'

export interface StepChanges extends Omit<ScoreChanges, 'onTheWay'> {
  /** Numbers typed into steps. A key or value is its group's, a residual every head's. */
  readonly cells?: readonly TypedCell[]
}

export interface StepEdit {
  readonly before: HeadRun
  readonly after: HeadRun
  /** Every step of the changed head, as `headSteps` gives those of the unchanged one. */
  readonly steps: readonly Step[]
  /** What the model says at every position, and the mean loss. */
  readonly predictions: {
    readonly before: readonly Prediction[]
    readonly after: readonly Prediction[]
    readonly lossBefore: number | null
    readonly lossAfter: number | null
  }
  /** |o after - o before| of each position. */
  readonly moved: readonly number[]
}

/** Throws `bad-request` for changes that cannot be, or a prompt too long to run without its mask. */
export async function editStep(
  model: Model,
  ids: readonly number[],
  place: HeadPlace,
  { cells = [], ...given }: StepChanges,
): Promise<StepEdit> {
  const before = await headRun(model, ids, place)
  const length = ids.length
  const { kind } = before.names
  if (given.noMask && place.cross)
    throw new HeadscopeError(
      'bad-request',
      'A head over a source sees all of it, so there is no mask to remove; leave noMask out.',
    )
  if (given.noMask && length * length * before.spec.nHeads * 4 > model.engine().scoreBudget)
    throw new HeadscopeError(
      'bad-request',
      `A prompt of ${length} tokens runs in chunks of rows, which do not see later keys; use a shorter prompt to remove the mask.`,
    )
  checkCells(cells, headSteps(model.spec, before))
  const changes = withScoreCells(given, cells)
  const edits: Edit[] = []
  const memory = typedMemory(cells, before)
  const changed = memory
    ? model.withMemory!({ data: memory.data, shape: [1, memory.rows, memory.width] })
    : model
  // What is typed into a step stands beside the numbers that the changes before it have left there.
  const current = async () =>
    edits.length === 0 && !memory ? before : headRun(changed, ids, place, { edits })
  const type = async (steps: typeof BEFORE_SCORES) => {
    for (const step of steps) {
      if (!cells.some((cell) => cell.step === step.name)) continue
      const edit = cellEdit(step, cells, await current())
      if (edit) edits.push(edit)
    }
  }
  await type(BEFORE_SCORES)
  if (changesScores(changes)) {
    const { scores } = scoreSteps(model.spec, await current(), changes)
    edits.push({
      hook: blockHook(place.layer, `${kind}.hook_attn_scores`),
      head: place.head,
      op: 'set',
      from: { values: Float32Array.from(scores), shape: [1, 1, length, before.scores.width] },
    })
  }
  await type(AFTER_SCORES)
  const after = await headRun(changed, ids, place, { edits })
  const [base, edited] = [await model.run(ids), await changed.run(ids, { edits })]
  return {
    before,
    after,
    steps: headSteps(model.spec, after, changes),
    predictions: {
      before: base.items[0]!.positions,
      after: edited.items[0]!.positions,
      lossBefore: base.items[0]!.loss,
      lossAfter: edited.items[0]!.loss,
    },
    moved: Array.from({ length }, (_, pos) => {
      let sum = 0
      for (let d = 0; d < before.z.width; d++) {
        const at = pos * before.z.width + d
        sum += (after.z.data[at]! - before.z.data[at]!) ** 2
      }
      return Math.sqrt(sum)
    }),
  }
}

// --- Internal helpers ---

function changesScores({ scale, noMask, temperature, typed, onTheWay }: ScoreChanges): boolean {
  const typedAny = (typed?.length ?? 0) + (onTheWay?.length ?? 0) > 0
  return scale !== undefined || noMask === true || temperature !== undefined || typedAny
}
