/**
 * Which run a grid of heads shows: the selected one, or the one that is held beside it. Out: its head, and what a click
 * and a key on it do.
 */
import { toggleAblation } from '../../state/edit-history.ts'
import { togglePin } from '../../state/pins.ts'
import { type HeadId, heldHead, type Selection } from '../../state/selection.ts'
import { getSelection, select } from '../../state/store.ts'

export interface GridSide {
  readonly name: 'selected' | 'held'
  /** Before the names of its tiles, so that they differ within the page. */
  readonly prefix: string
  head(selection: Selection): HeadId | null
  run(selection: Selection): number | null
  pick(head: HeadId): void
  /** A letter on a head; false when it means nothing here. */
  letter(key: string, head: HeadId): boolean
}

export const SELECTED: GridSide = {
  name: 'selected',
  prefix: 'head',
  head: (s) => s.head,
  run: (s) => s.run,
  pick: (head) => select({ head }),
  letter: (key, head) => {
    if (key === 'a') toggleAblation(head)
    else if (key === 'p') togglePin(head)
    else return false
    return true
  },
}

/** Edits act on the selected run alone; pins are of the selected checkpoint. */
export const HELD: GridSide = {
  name: 'held',
  prefix: 'held',
  head: heldHead,
  run: (s) => s.held?.run ?? null,
  pick: (head) => {
    const { held } = getSelection()
    if (held?.head === null) select({ head })
    else if (held) select({ held: { run: held.run, head } })
  },
  letter: () => false,
}
