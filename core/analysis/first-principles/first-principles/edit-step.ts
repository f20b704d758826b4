/**
 * One step of a head changed, and everything downstream run again: typed scores, a temperature, no mask, no √d_k. In:
 * changes. Out: the head's weights and output before and after, and what the model then says. Cost: two forwards of
 * one head, two predictions.
 */
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import type { Model } from '../../run/model.ts'
import type { Edit, Prediction } from '../../run/types.ts'
import { type HeadPlace, type HeadRun, headRun } from './head-run.ts'
import { type ScoreChanges, scoreSteps } from './scores.ts'

export interface StepEdit {
  readonly before: HeadRun
  readonly after: HeadRun
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
  changes: ScoreChanges,
): Promise<StepEdit> {
  const before = await headRun(model, ids, place)
  const length = ids.length
  if (changes.noMask && length * length * before.spec.nHeads * 4 > model.engine().scoreBudget)
    throw new HeadscopeError(
      'bad-request',
      `A prompt of ${length} tokens runs in chunks of rows, which do not see later keys; use a shorter prompt to remove the mask.`,
    )
  const { scores } = scoreSteps(model.spec, before, changes)
  const edits: Edit[] = [
    {
      hook: blockHook(place.layer, 'attn.hook_attn_scores'),
      head: place.head,
      op: 'set',
      from: { values: Float32Array.from(scores), shape: [1, 1, length, length] },
    },
  ]
  const after = await headRun(model, ids, place, { edits })
  const [base, edited] = [await model.run(ids), await model.run(ids, { edits })]
  return {
    before,
    after,
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
