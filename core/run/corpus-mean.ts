/**
 * The mean of captures over a corpus, in float64: over every position of every prompt, or position by position. In:
 * captures [1, …], prompt by prompt. Out: one tensor a hook, [1, 1, …] or [1, pos, …]. Costs one sum a hook.
 */
import { HeadscopeError } from '../errors.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'

export interface MeanOver {
  /** Adds one prompt's capture. Throws `bad-edit` for a hook that has no such mean. */
  tensor(name: string, tensor: Tensor): void
  finish(): ReadonlyMap<string, Tensor>
}

/** `what` names the mean in errors. */
export function meanOver(over: 'all' | 'pos', what: string): MeanOver {
  const sums = new Map<string, { data: Float64Array; tensor: Tensor; shape: number[]; count: number }>()

  function start(name: string, tensor: Tensor) {
    if (over === 'all' && tensor.axes.includes('key'))
      throw new HeadscopeError(
        'bad-edit',
        `${what}: ${name} has a row of keys per query, so its mean over all positions has no meaning; use "over": "pos".`,
      )
    const shape = tensor.shape.map((size, i) => (over === 'all' && tensor.axes[i] === 'pos' ? 1 : size))
    const sum = { data: new Float64Array(sizeOf(shape)), tensor, shape, count: 0 }
    sums.set(name, sum)
    return sum
  }

  return {
    tensor(name, tensor) {
      const sum = sums.get(name) ?? start(name, tensor)
      const rows = over === 'all' ? (tensor.shape[tensor.axes.indexOf('pos')] ?? 1) : 1
      if (over === 'pos' && tensor.shape.some((size, i) => size !== sum.shape[i]))
        throw new HeadscopeError(
          'bad-edit',
          `${what} is taken position by position, but its prompts have ${sum.shape[1]} and ${tensor.shape[1]} tokens; use prompts of one length, or "over": "all".`,
        )
      // Positions stand first after the batch, so what is left repeats row by row.
      for (let i = 0; i < tensor.data.length; i++) sum.data[i % sum.data.length]! += tensor.data[i]!
      sum.count += rows
    },
    finish: () =>
      new Map(
        [...sums].map(([name, { data, tensor, shape, count }]) => [
          name,
          { data: Float32Array.from(data, (value) => value / count), shape, axes: tensor.axes },
        ]),
      ),
  }
}
