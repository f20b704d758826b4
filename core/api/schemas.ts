/** The bodies that handlers take, as zod schemas: the types of contract.ts, checked. Anything unknown is refused. */
import { z } from 'zod'

const indices = z.union([z.int(), z.array(z.int()).max(100_000), z.string().max(64)])

/** An edit as it may come over HTTP: every kind but raw values, which only a script can pass. */
const edit = z.strictObject({
  hook: z.string().min(1, 'an edit names a hook').max(200),
  item: indices.optional(),
  head: indices.optional(),
  kv_head: indices.optional(),
  pos: indices.optional(),
  query: indices.optional(),
  key: indices.optional(),
  op: z.enum(['zero', 'scale', 'set', 'add']),
  by: z.number().optional(),
  value: z.union([z.number(), z.literal('-inf')]).optional(),
  from: z
    .union([
      z.strictObject({ item: z.int() }),
      z.strictObject({ ids: z.array(z.int()).max(1_000_000) }),
      z.strictObject({ run: z.int() }),
      z.strictObject({ mean: z.string(), over: z.enum(['all', 'pos']).optional() }),
      z.strictObject({ file: z.string(), tensor: z.string() }),
    ])
    .optional(),
})

export const model = z.string('name a model').min(1, 'name a model').max(4096)

export const prompt = z
  .strictObject({
    text: z.string().max(4_000_000).optional(),
    ids: z.array(z.int()).max(1_000_000).optional(),
    bos: z.enum(['auto', 'yes', 'no']).optional(),
    decoder: z
      .strictObject({
        text: z.string().max(4_000_000).optional(),
        ids: z.array(z.int()).max(1_000_000).optional(),
      })
      .optional(),
  })
  .refine((given) => (given.text === undefined) !== (given.ids === undefined), 'give either a text or ids')

export const openBody = z.strictObject({ path: model })
export const tokenizeBody = z.strictObject({
  model,
  text: z.string().max(4_000_000),
  bos: z.enum(['auto', 'yes', 'no']),
})
export const runBody = z.strictObject({ model, prompt, edits: z.array(edit).max(1000).optional() })
export const predictBody = z.strictObject({
  model,
  prompt,
  edits: z.array(edit).max(1000),
  pos: z.int().optional(),
})
export const generateBody = z.strictObject({ model, prompt, max: z.int().min(1).max(100_000) })
export const scanBody = z.strictObject({
  model,
  length: z.int().min(2).max(100_000).optional(),
  batch: z.int().min(1).max(10_000).optional(),
  seed: z.int().min(0).max(0xffffffff).optional(),
})
export const sqlBody = z.strictObject({ sql: z.string().min(1, 'write a query').max(1_000_000) })
