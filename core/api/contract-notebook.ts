/** Messages of the routes about notes on heads and the notebook of pinned figures. Part of contract.ts. */
import type { FigureInput, PinnedFigure, StoredFigure } from '../store/figures.ts'
import type { HeadNote } from '../store/notes.ts'

/** GET /api/notes?model=: HeadNote[], the notes on the heads of a checkpoint (by its weights). */
export type NotesReply = readonly HeadNote[]

/** PUT /api/notes: writes the note on a head; a text of spaces only removes it. */
export interface NoteRequest {
  readonly model: string
  readonly layer: number
  readonly head: number
  readonly text: string
}
export interface NoteReply {
  /** null: removed. */
  readonly note: HeadNote | null
}

/** GET /api/notebook: PinnedFigure[] in order. GET /api/notebook/:id: StoredFigure. DELETE /api/notebook/:id. */
export type NotebookReply = readonly PinnedFigure[]
export type FigureReply = StoredFigure

/** POST /api/notebook: pins a figure behind the others. */
export type PinRequest = FigureInput
export interface PinReply {
  readonly id: number
}

/** PUT /api/notebook/:id/note {text}: replaces the note of a figure. */
export interface FigureNoteRequest {
  readonly text: string
}

/** PUT /api/notebook/order {ids}: these first, in this order. GET /api/notebook/export: the notebook as one HTML file. */
export interface OrderRequest {
  readonly ids: readonly number[]
}
