/** The bodies of the routes about notes and the notebook: the types of contract-notebook.ts, checked. */
import { z } from 'zod'
import { LARGEST_CSV, LARGEST_SVG } from '../store/figures.ts'
import { LONGEST_NOTE } from '../store/notes.ts'
import { model } from './schemas.ts'

const index = z.int().min(0)
const note = z.string().max(LONGEST_NOTE, `a note has at most ${LONGEST_NOTE} characters`)

export const noteBody = z.strictObject({ model, layer: index, head: index, text: note })
export const pinBody = z.strictObject({
  title: z.string().min(1, 'give it a title').max(1000),
  svg: z.string().max(LARGEST_SVG, `a figure has at most ${LARGEST_SVG} characters`),
  csv: z.string().max(LARGEST_CSV, `a table has at most ${LARGEST_CSV} characters`).nullable(),
  provenance: z.array(z.string().max(20_000)).max(100),
  state: z.string().max(200_000),
  command: z.string().max(2_000_000).nullable(),
  script: z.string().max(4_000_000).nullable(),
  note: note.optional(),
})
export const figureNoteBody = z.strictObject({ text: note })
export const orderBody = z.strictObject({ ids: z.array(z.int().min(1)).max(100_000) })
