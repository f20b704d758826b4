/**
 * Active edits: the stack of interventions in the selection. In: an Edit of the contract. Out: the list with it added,
 * switched, moved or taken out; what each is called; and its form in the address. Pure; undo is in edit-history.ts.
 */
import type { Edit } from '../../core/run/types.ts'
import { type HeadId, headName } from './head-name.ts'

export interface ActiveEdit {
  readonly edit: Edit
  readonly on: boolean
  /** What the person calls it; null: described by what it does. */
  readonly name: string | null
}

/** Sets the output of one head to zero at every position (hook_z: the bias b_O stays). */
export function ablateHead({ layer, head }: HeadId): Edit {
  return { hook: `blocks.${layer}.attn.hook_z`, head, op: 'zero' }
}

/** Takes one edge away before the softmax: the query's other weights share what it had. */
export function knockOut({ layer, head }: HeadId, query: number, key: number): Edit {
  return { hook: `blocks.${layer}.attn.hook_attn_scores`, head, query, key, op: 'set', value: '-inf' }
}

/** Two edits that do the same at the same place. */
export function sameEdit(a: Edit, b: Edit): boolean {
  return canonical(a) === canonical(b)
}

/** The edits that act: those that are on, without their names. */
export function actingEdits(stack: readonly ActiveEdit[]): Edit[] {
  return stack.filter(({ on }) => on).map(({ edit }) => edit)
}

/** The stack with this edit on: added at the end, or switched on again. */
export function withEdit(stack: readonly ActiveEdit[], edit: Edit): ActiveEdit[] {
  const known = stack.findIndex((active) => sameEdit(active.edit, edit))
  return known < 0
    ? [...stack, { edit, on: true, name: null }]
    : stack.map((active, i) => (i === known ? { ...active, on: true } : active))
}

export function withoutEdit(stack: readonly ActiveEdit[], edit: Edit): ActiveEdit[] {
  return stack.filter((active) => !sameEdit(active.edit, edit))
}

/** The stack with one entry moved by `step` places. */
export function movedEdit(stack: readonly ActiveEdit[], index: number, step: number): ActiveEdit[] {
  const to = index + step
  if (to < 0 || to >= stack.length) return [...stack]
  const out = [...stack]
  const [taken] = out.splice(index, 1)
  out.splice(to, 0, taken!)
  return out
}

/** `zero L1H3`, `cut L1H7 36→7`, `× 0.5 L0 resid_pre at 5`; of heads over a source `zero L1H3 cross`. */
export function describeEdit(edit: Edit): string {
  const block = /^(?:decoder\.)?blocks\.(\d+)\.(?:attn\.|(cross)_attn\.)?hook_(.+)$/.exec(edit.hook)
  const layer = block ? Number(block[1]) : null
  const every = /^(?:decoder\.)?blocks\.\*\.(?:attn\.|(cross)_attn\.)?hook_(.+)$/.exec(edit.hook)
  const { head, kv_head: kv } = edit
  const local = (block?.[3] ?? every?.[2] ?? '').replace(/^attn_scores$/, '')
  const over = (block?.[2] ?? every?.[1]) ? ' cross' : ''
  const part = `${over}${local === '' || (local === 'z' && typeof head === 'number') ? '' : ` ${local}`}`
  const of = layer === null ? 'every layer' : `L${layer}`
  const where =
    layer === null && !every
      ? edit.hook
      : layer !== null && typeof head === 'number'
        ? `${headName({ layer, head })}${part}`
        : kv !== undefined
          ? `${of} K/V ${indices(kv)}${part}`
          : `${of}${part}${head === undefined ? '' : ` heads ${indices(head)}`}`
  const edge =
    edit.query !== undefined || edit.key !== undefined
      ? ` ${indices(edit.query) || 'all'}→${indices(edit.key) || 'all'}`
      : ''
  const at = edit.pos === undefined ? '' : ` at ${indices(edit.pos)}`
  if (edit.op === 'set' && edit.value === '-inf') return `cut ${where}${edge}`
  const what =
    edit.op === 'zero'
      ? 'zero'
      : edit.op === 'scale'
        ? `× ${edit.by ?? 1}`
        : `${edit.op} ${edit.value ?? source(edit.from)}`
  return `${what} ${where}${edge}${at}`
}

export function editLabel({ edit, name }: ActiveEdit): string {
  return name ?? describeEdit(edit)
}

/** The form in the address: a JSON list, with `off` and `name` where they are set. Null for an empty stack. */
export function formatEdits(stack: readonly ActiveEdit[]): string | null {
  if (stack.length === 0) return null
  return JSON.stringify(
    stack.map(({ edit, on, name }) => ({ ...edit, ...(on ? {} : { off: true }), ...(name ? { name } : {}) })),
  )
}

/** Reads formatEdits; whatever is no edit is left out. The engine checks the rest. */
export function parseEdits(text: string | null): ActiveEdit[] {
  if (!text) return []
  let given: unknown
  try {
    given = JSON.parse(text)
  } catch {
    return []
  }
  if (!Array.isArray(given)) return []
  return given.flatMap((entry): ActiveEdit[] => {
    if (typeof entry !== 'object' || entry === null) return []
    const { off, name, ...edit } = entry as Record<string, unknown>
    if (typeof edit.hook !== 'string' || !OPS.includes(edit.op as Edit['op'])) return []
    return [{ edit: edit as unknown as Edit, on: off !== true, name: typeof name === 'string' ? name : null }]
  })
}

// --- Internal helpers ---

const OPS: readonly Edit['op'][] = ['zero', 'scale', 'set', 'add']

function canonical(edit: Edit): string {
  return JSON.stringify(Object.entries(edit).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function indices(given: Edit['pos']): string {
  return given === undefined ? '' : Array.isArray(given) ? given.join(',') : String(given)
}

function source(from: Edit['from']): string {
  if (!from) return ''
  if ('run' in from) return `from run ${from.run}`
  if ('ids' in from) return 'from another prompt'
  if ('mean' in from) {
    const { mean } = from
    if (typeof mean === 'string') return `mean of ${mean}`
    return `mean of ${mean.length === 1 ? '1 text' : `${mean.length} texts`}`
  }
  if ('file' in from) return `from ${from.tensor}`
  return 'item' in from ? `from item ${from.item}` : 'given values'
}
