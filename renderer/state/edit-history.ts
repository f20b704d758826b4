/**
 * Changes of the edit stack, with undo and redo. In: what to do with an edit. Out: a new selection. The history is of
 * this window and of the edits only; the back button undoes whatever else is in the address.
 */
import type { Edit } from '../../core/run/types.ts'
import { type ActiveEdit, ablateHead, movedEdit, sameEdit, withEdit, withoutEdit } from './edits.ts'
import type { HeadId } from './head-name.ts'
import { getSelection, select } from './store.ts'

const MOST = 100
let past: (readonly ActiveEdit[])[] = []
let future: (readonly ActiveEdit[])[] = []

/** Sets the stack and remembers the one before. */
export function setEdits(next: readonly ActiveEdit[]): void {
  past = [...past, getSelection().edits].slice(-MOST)
  future = []
  select({ edits: next })
}

export const addEdit = (edit: Edit) => setEdits(withEdit(getSelection().edits, edit))
export const removeEdit = (edit: Edit) => setEdits(withoutEdit(getSelection().edits, edit))
export const clearEdits = () => setEdits([])
export const moveEdit = (index: number, step: number) =>
  setEdits(movedEdit(getSelection().edits, index, step))

/** Switches the entry at `index` on or off. */
export function switchEdit(index: number): void {
  setEdits(getSelection().edits.map((active, i) => (i === index ? { ...active, on: !active.on } : active)))
}

/** Names the entry at `index`; an empty name gives its description back. */
export function renameEdit(index: number, name: string): void {
  const clean = name.trim() || null
  setEdits(getSelection().edits.map((active, i) => (i === index ? { ...active, name: clean } : active)))
}

/** Adds an edit that acts, or takes it away where it acts already. */
export function toggleEdit(edit: Edit): void {
  const acts = isActive(getSelection().edits, edit)
  if (acts) removeEdit(edit)
  else addEdit(edit)
}

export const toggleAblation = (head: HeadId) => toggleEdit(ablateHead(head))

/** Whether this edit is in the stack and on. */
export function isActive(stack: readonly ActiveEdit[], edit: Edit): boolean {
  return stack.some((active) => active.on && sameEdit(active.edit, edit))
}

/** One change back; false when there is none. */
export function undoEdit(): boolean {
  const before = past.at(-1)
  if (!before) return false
  past = past.slice(0, -1)
  future = [...future, getSelection().edits]
  select({ edits: before })
  return true
}

/** One change forward; false when there is none. */
export function redoEdit(): boolean {
  const after = future.at(-1)
  if (!after) return false
  future = future.slice(0, -1)
  past = [...past, getSelection().edits]
  select({ edits: after })
  return true
}
