/** The body of the route that keeps a stack of edits: the type of contract-edits.ts, checked. */
import { z } from 'zod'
import { edit, model, prompt } from './schemas.ts'

export const editStackBody = z.strictObject({
  model,
  prompt,
  name: z.string().trim().min(1, 'name the stack').max(200),
  edits: z
    .array(z.strictObject({ edit, on: z.boolean(), name: z.string().max(200).nullable() }))
    .min(1, 'a stack holds at least one edit')
    .max(1000),
})
