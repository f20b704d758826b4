/** The bodies of the routes about the residual stream, the weights and the bench: the types of contract-inside.ts, checked. */
import { z } from 'zod'
import { edit, model, prompt } from './schemas.ts'

const token = z.union([z.int(), z.string().min(1).max(1000)])
const index = z.int().min(0)
const head = { model, prompt, layer: index, head: index }
/** On the bench also a head over an encoder's text. */
const bench = { ...head, cross: z.boolean().optional() }
const edits = z.array(edit).max(1000).optional()
const cell = z.strictObject({ prompt, pos: index, border: index, edits })
const metric = z.strictObject({
  kind: z.enum(['logit_diff', 'logit', 'logprob', 'prob', 'loss']),
  pos: z.int().optional(),
  answer: token.optional(),
  wrong: token.optional(),
})

export const lensBody = z.strictObject({
  model,
  prompt,
  positions: z.array(z.int()).max(100_000).optional(),
  layers: z.array(index).max(10_000).optional(),
  answer: token.optional(),
  top: z.int().min(1).max(1000).optional(),
  edits: z.array(edit).max(1000).optional(),
})
export const patchedBody = lensBody.omit({ prompt: true, edits: true }).extend({ from: cell, to: cell })
export const dlaBody = z.strictObject({
  model,
  prompt,
  answer: token,
  wrong: token.optional(),
  pos: z.int().optional(),
  edits: z.array(edit).max(1000).optional(),
  sources: z.boolean().optional(),
  value_bias: z.enum(['heads', 'bias']).optional(),
})
export const geometryBody = z.strictObject({ model, prompt, border: index.optional(), edits })
export const changeBody = z.strictObject({ model, from: cell, to: cell })
export const contextsBody = z.strictObject({
  model,
  places: z
    .array(z.strictObject({ prompt, pos: index }))
    .min(2, 'give two prompts or more')
    .max(1000),
})
export const compoundBody = z.strictObject({ model, prompt, positions: z.array(index).max(1000) })
export const neighboursBody = z.strictObject({
  model,
  expression: z.string().max(10_000),
  count: z.int().min(1).max(1000).optional(),
})
export const weightsBody = z.strictObject({
  model,
  fold: z.boolean().optional(),
  composition: z.boolean().optional(),
})
export const pairsBody = z.strictObject({
  model,
  layer: index,
  head: index,
  circuit: z.enum(['ov', 'qk']),
  count: z.int().min(1).max(1000).optional(),
})
export const benchBody = z.strictObject({
  ...bench,
  query: index.optional(),
  key: index.optional(),
  answer: token.optional(),
  wrong: token.optional(),
})
export const benchEditBody = z.strictObject({
  ...bench,
  noMask: z.boolean().optional(),
  noScale: z.boolean().optional(),
  temperature: z.number().optional(),
  typed: z
    .array(z.strictObject({ query: index, key: index, score: z.number() }))
    .max(10_000)
    .optional(),
  cells: z
    .array(z.strictObject({ step: z.string().max(100), row: index, column: index, value: z.number() }))
    .max(10_000)
    .optional(),
})
export const basisBody = z.strictObject({ ...bench, seed: z.int().min(0).max(0xffffffff).optional() })
export const headGradientsBody = z.strictObject({ ...bench, metric, parameters: z.boolean().optional() })
export const patternGradientBody = z.strictObject({
  ...head,
  of: z.enum(['encoder', 'decoder', 'cross']),
  metric,
})
export const nudgeBody = z.strictObject({ ...bench, query: index, key: index, epsilon: z.number(), metric })
export const exportQuery = z.object({
  what: z.string().min(1).max(100),
  format: z.enum(['safetensors', 'npz', 'csv', 'json']),
})
export const importBody = z.strictObject({ model, file: z.string().min(1).max(4096) })
