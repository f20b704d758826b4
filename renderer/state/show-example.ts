/** Opens an example from wherever it is offered. In: an example. Out: its state; what goes wrong stands in the banner. */
import { openProblem } from './desktop.ts'
import { type Example, openExample } from './examples.ts'

/** Starts to open an example, and returns at once. */
export function showExample(example: Example): void {
  openProblem.set(null)
  openExample(example).catch((error: { code?: string; message: string }) => {
    if (error.code !== 'cancelled') openProblem.set(`The example “${example.title}”: ${error.message}`)
  })
}
