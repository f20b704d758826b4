/** The bodies of the routes about heads and comparisons, as zod schemas: the types of contract-heads.ts, checked. */
import { z } from 'zod'
import { model, prompt } from './schemas.ts'

const names = z.array(z.string().min(1).max(64)).min(1).max(100)
const prompts = z.array(prompt).min(1, 'give at least one prompt').max(100_000)
const seed = z.int().min(0).max(0xffffffff)
const tokens = z.union([
  z.strictObject({ class: z.string().max(64) }),
  z.strictObject({ words: z.array(z.string().max(200)).min(1).max(10_000) }),
  z.strictObject({ ids: z.array(z.int().min(0)).min(1).max(1_000_000) }),
])
const headPlace = { layer: z.int().min(0), head: z.int().min(0) }

export const spansBody = z.strictObject({
  model,
  prompts,
  hit: z.enum(['strongest', 'weight']).optional(),
  threshold: z.number().min(0).max(1).optional(),
  check: z.boolean().optional(),
  heads: z.array(z.strictObject(headPlace)).min(1).max(1000).optional(),
})
export const corpusBody = z.strictObject({
  model,
  prompts,
  keep: z.int().min(1).max(1000).optional(),
  query: tokens.optional(),
  key: tokens.optional(),
  store: z.boolean().optional(),
})
export const searchBody = z.strictObject({
  model,
  query: tokens.optional(),
  key: tokens.optional(),
  min_weight: z.number().min(0).max(1).optional(),
  layer: z.int().min(0).optional(),
  head: z.int().min(0).optional(),
  limit: z.int().min(1).max(10_000).optional(),
})
export const relationBody = z.strictObject({
  model,
  template: z
    .strictObject({
      name: z.string().max(200),
      note: z.string().max(2000).optional(),
      template: z.union([z.string().max(10_000), z.array(z.string().max(10_000)).min(1).max(100)]),
      slots: z.record(z.string().max(64), z.array(z.string().max(200)).max(1000)),
    })
    .optional(),
  triples: z
    .array(z.strictObject({ prompt, query: z.int(), target: z.int(), distractor: z.int() }))
    .min(1)
    .max(100_000)
    .optional(),
})
export const compareBody = z.strictObject({
  a: model,
  b: model,
  prompts,
  scores: names.optional(),
  length: z.int().min(2).max(100_000).optional(),
  batch: z.int().min(1).max(10_000).optional(),
  seed: seed.optional(),
  match: z.boolean().optional(),
  weights: names.optional(),
  report: z.boolean().optional(),
})
export const seriesBody = z.strictObject({
  model,
  scores: names.optional(),
  length: z.int().min(2).max(100_000).optional(),
  batch: z.int().min(1).max(10_000).optional(),
  seed: seed.optional(),
  bos: z.boolean().optional(),
  threshold: z.number().optional(),
})
export const differenceBody = z.strictObject({ a: model, b: model, prompt, ...headPlace })
export const summaryBody = z.strictObject({
  model,
  prompt,
  kind: z.enum(['rollout', 'flow']),
  pos: z.int().optional(),
  row: z.boolean().optional(),
  without_first: z.boolean().optional(),
})
