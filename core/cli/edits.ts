/** `--edit` JSON → edits. In: texts. Out: checked data, or one sentence that names the edit and the field. */
import { z } from 'zod'
import { HeadscopeError } from '../errors.ts'
import type { Edit } from '../run/types.ts'

const PLACES = 'must be a number, a list of numbers, or a slice such as "4:"'
const indices = z.union([z.int(), z.array(z.int()).min(1, PLACES), z.string()], { error: PLACES })

const ids = z.array(z.int()).min(1)
const beside = { ids, decoder_ids: ids.optional() }
const mean = z.union([
  z.string(),
  z.array(z.union([z.strictObject({ text: z.string().min(1) }), z.strictObject(beside)])).min(1),
])

const source = z.union(
  [
    z.strictObject({ item: z.int().min(0) }),
    z.strictObject(beside),
    z.strictObject({ run: z.int().min(1) }),
    z.strictObject({ mean, over: z.enum(['all', 'pos']).optional() }),
    z.strictObject({ file: z.string(), tensor: z.string() }),
  ],
  {
    error:
      'must be {"item": N}, {"ids": […]}, {"run": N}, {"mean": FILE}, {"mean": [{"text": "…"}, {"ids": […]}]} or {"file": F, "tensor": NAME}',
  },
)

const edit = z.strictObject({
  hook: z.string({ error: 'must name a hook' }).min(1, 'must name a hook'),
  item: indices.optional(),
  head: indices.optional(),
  kv_head: indices.optional(),
  pos: indices.optional(),
  query: indices.optional(),
  key: indices.optional(),
  op: z.enum(['zero', 'scale', 'set', 'add'], { error: 'must be zero, scale, set or add' }),
  by: z.number({ error: 'must be a finite number' }).optional(),
  value: z.union([z.number(), z.literal('-inf')], { error: 'must be a finite number or "-inf"' }).optional(),
  from: source.optional(),
})

/** Checks each. Throws `bad-edit`. */
export function parseEdits(texts: readonly string[]): Edit[] {
  return texts.map((text, i) => {
    const which = texts.length > 1 ? `Edit ${i}` : 'The edit'
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      throw new HeadscopeError(
        'bad-edit',
        `${which} is not JSON: write it as '{"hook": "blocks.1.attn.hook_z", "head": 3, "op": "zero"}'.`,
      )
    }
    const result = edit.safeParse(value)
    if (result.success) return result.data as Edit
    throw new HeadscopeError('bad-edit', `${which} does not fit: ${problem(result.error.issues[0]!)}.`)
  })
}

// --- Internal helpers ---

function problem(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys')
    return `it has no field ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}; the fields are hook, item, head, kv_head, pos, query, key, op, by, value and from`
  const field = issue.path.join('.')
  return field === '' ? 'it must be an object' : `"${field}" ${issue.message.replace(/\.$/, '')}`
}
