/** Keeping a head of a run in view. In: the selection. Out: a changed one. */
import { getSelection, select } from './store.ts'

/** Keeps the head of this run to be seen beside the next one; again: lets go. */
export function hold(): void {
  const { head, run, held } = getSelection()
  if (held) select({ held: null })
  else if (head && run !== null) select({ held: { run, head }, compare: 'both' })
}

/** Keeps a whole run, to see the same heads of another prompt or checkpoint beside it. */
export function holdRun(): void {
  const { run } = getSelection()
  if (run !== null) select({ held: { run, head: null }, compare: 'both' })
}
