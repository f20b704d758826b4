/** What a run hands out, whatever computed it: an item with its loss, and captures by name. */
import { HeadscopeError } from '../errors.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Prediction, Run, RunItem } from './types.ts'

/** An item of its own length; the loss is the mean over its positions, null where one of them has none. */
export function runItem(ids: readonly number[], predictions: readonly Prediction[]): RunItem {
  const positions = predictions.slice(0, ids.length)
  const losses = positions.slice(0, -1).map((position) => position.loss)
  const known = losses.length > 0 && losses.every((loss) => loss !== null)
  const loss = known ? (losses as number[]).reduce((sum, value) => sum + value, 0) / losses.length : null
  return { ids, loss, positions }
}

/** `run.get`. It throws `bad-request` naming what was captured. */
export function captureReader(captures: ReadonlyMap<string, Tensor>): Run['get'] {
  return (hook) => {
    const tensor = captures.get(hook)
    if (tensor) return tensor
    const have = [...captures.keys()].join(', ') || 'nothing'
    throw new HeadscopeError(
      'bad-request',
      `${hook} was not captured in this run (captured: ${have}); name it in capture.`,
    )
  }
}
