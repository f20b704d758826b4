/** The bodies that handlers take, as zod schemas: the types of contract.ts, checked. Anything unknown is refused. */
import { z } from 'zod'

const indices = z.union([z.int(), z.array(z.int()).max(100_000), z.string().max(64)])

/** The prompts behind a mean: a file's, or these. */
const mean = z.union([
  z.string(),
  z
    .array(
      z.union([
        z.strictObject({ text: z.string().min(1).max(4_000_000) }),
        z.strictObject({
          ids: z.array(z.int()).min(1).max(1_000_000),
          decoder_ids: z.array(z.int()).min(1).max(1_000_000).optional(),
        }),
      ]),
    )
    .min(1, 'a mean needs at least one prompt')
    .max(100_000),
])

/** An edit as it may come over HTTP: every kind but raw values, which only a script can pass. */
export const edit = z.strictObject({
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
      z.strictObject({
        ids: z.array(z.int()).max(1_000_000),
        decoder_ids: z.array(z.int()).max(1_000_000).optional(),
      }),
      z.strictObject({ run: z.int() }),
      z.strictObject({ mean, over: z.enum(['all', 'pos']).optional() }),
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
    specials: z.enum(['tokens', 'text']).optional(),
    decoder: z
      .strictObject({
        text: z.string().max(4_000_000).optional(),
        ids: z.array(z.int()).max(1_000_000).optional(),
      })
      .optional(),
  })
  .refine((given) => (given.text === undefined) !== (given.ids === undefined), 'give either a text or ids')

export const openBody = z.strictObject({ path: model })
export const tokenizeBody = z.union([
  z.strictObject({
    model,
    text: z.string().max(4_000_000),
    bos: z.enum(['auto', 'yes', 'no']),
    specials: z.enum(['tokens', 'text']).optional(),
    decoder: z.boolean().optional(),
  }),
  z.strictObject({ model, ids: z.array(z.int()).min(1).max(1_000_000) }),
])
export const mergesBody = z.strictObject({
  model,
  id: z
    .int()
    .min(0)
    .max(2 ** 31),
})
export const runBody = z.strictObject({ model, prompt, edits: z.array(edit).max(1000).optional() })
export const predictBody = z.strictObject({
  model,
  prompt,
  edits: z.array(edit).max(1000),
  pos: z.int().optional(),
  positions: z.array(z.int()).max(100_000).optional(),
})
export const generateBody = z.strictObject({
  model,
  prompt,
  max: z.int().min(1).max(100_000),
  chat: z.boolean().optional(),
  temperature: z.number().optional(),
  seed: z.int().min(0).max(0xffffffff).optional(),
})
export const scanBody = z.strictObject({
  model,
  scores: z.array(z.string().min(1).max(64)).min(1).max(100).optional(),
  bos: z.boolean().optional(),
  prompts: z.array(prompt).min(1).max(100_000).optional(),
  length: z.int().min(2).max(100_000).optional(),
  batch: z.int().min(1).max(10_000).optional(),
  seed: z.int().min(0).max(0xffffffff).optional(),
})
export const sqlBody = z.strictObject({ sql: z.string().min(1, 'write a query').max(1_000_000) })

const token = z.union([z.int(), z.string().max(1000)])
export const metric = z.strictObject({
  kind: z.enum(['logit_diff', 'logit', 'logprob', 'prob', 'loss', 'kl']),
  item: z.int().optional(),
  pos: z.int().optional(),
  answer: token.optional(),
  wrong: token.optional(),
})
const resume = z.int().min(1).optional()
const pair = { model, clean: prompt, corrupt: prompt, metric, resume }
const end = z.string().min(1).max(100)
const ends = z.array(end).min(1, 'name at least one').max(10_000)

export const ablateBody = z.strictObject({
  model,
  prompt,
  over: z.enum(['heads', 'cross_heads', 'mlps', 'layers', 'positions']),
  kind: z.enum(['zero', 'mean', 'resample']),
  metric,
  reference: z.array(prompt).max(100_000).optional(),
  meanOver: z.enum(['all', 'pos']).optional(),
  resume,
})
export const patchBody = z.strictObject({
  ...pair,
  site: z.enum([
    'resid_pre',
    'attn_out',
    'mlp_out',
    'z',
    'q',
    'k',
    'v',
    'pattern',
    'cross_attn_out',
    'cross_z',
    'cross_pattern',
  ]),
  by: z.enum(['layer,pos', 'layer,head']).optional(),
  direction: z.enum(['denoise', 'noise']).optional(),
})
export const pathBody = z
  .strictObject({
    ...pair,
    from: ends.optional(),
    to: ends.optional(),
    edges: z
      .array(z.strictObject({ from: end, to: end }))
      .min(1, 'name at least one')
      .max(10_000)
      .optional(),
    mlps: z.enum(['freeze', 'recompute']).optional(),
  })
  .refine(
    ({ from, to, edges }) => (edges ? !from && !to : from && to),
    'give from and to (every sender with every receiver), or edges',
  )
export const attributeBody = z.strictObject({
  ...pair,
  sites: z
    .array(z.enum(['z', 'mlp_out', 'q', 'k', 'v']))
    .min(1)
    .max(5)
    .optional(),
  verify: z.int().min(1).max(100_000).optional(),
  gradDrop: z.boolean().optional(),
})
