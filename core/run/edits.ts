/**
 * Edits as data → slots of a graph and the arrays fed to them. In: the contract's `Edit`, the prompts' lengths, a way
 * to get source tensors. Out: one `ResolvedEdit` each, in positions of the whole run. Everything that can be wrong is
 * refused here, before anything runs.
 */
import { HeadscopeError } from '../errors.ts'
import type { EditSlot } from '../graph/splice.ts'
import { visible } from './attention-bias.ts'
import { broadcastStrides, type Dense } from './dense.ts'
import { type EditContext, findHooks, lengthsOf, maskOf, type Region, regionOf } from './edit-region.ts'
import { constant, finite, masked, scalar, sourced } from './edit-values.ts'
import { type HookInfo, layerOf, placeOf } from './segments.ts'
import type { Edit } from './types.ts'

export interface ResolvedEdit {
  readonly hook: HookInfo
  readonly kind: EditSlot['kind']
  readonly value: Dense
  readonly mask: Dense<Uint8Array> | null
}

/** Throws `bad-edit` or `bad-request` in one sentence. */
export async function resolveEdits(edits: readonly Edit[], context: EditContext): Promise<ResolvedEdit[]> {
  const resolved: ResolvedEdit[] = []
  const regions: { edit: Edit; hook: HookInfo; region: Region }[] = []
  if (!Array.isArray(edits)) throw new HeadscopeError('bad-edit', 'edits are a list: put the edit in [ ].')
  for (const given of edits) {
    refuseIdle(given)
    const hooks = findHooks(given, context)
    for (const hook of hooks) {
      const edit = { ...given, hook: hook.name }
      const region = regionOf(edit, hook, context)
      regions.push({ edit, hook, region })
      const done = await resolve(edit, hook, region, context, hooks)
      refuseNoExpert(done, edit, context)
      resolved.push(done)
    }
  }
  refuseEmptyRows(regions, context)
  return resolved
}

// --- Internal helpers ---

const FIELDS: readonly string[] = [
  'hook',
  'item',
  'head',
  'kv_head',
  'pos',
  'query',
  'key',
  'op',
  'by',
  'value',
  'from',
]

/** What each kind of edit does not read. */
const IDLE = { zero: ['by', 'value', 'from'], scale: ['value', 'from'], set: ['by'], add: [] } as const

/** Refuses a field that this edit would not read: a slip that would otherwise change nothing. */
function refuseIdle(edit: Edit): void {
  if (typeof edit?.hook !== 'string')
    throw new HeadscopeError(
      'bad-edit',
      'An edit needs "hook", the name of a hook, such as {hook: "blocks.1.attn.hook_z", head: 3, op: "zero"}.',
    )
  const unknown = Object.keys(edit).find((field) => !FIELDS.includes(field))
  if (unknown !== undefined)
    throw new HeadscopeError(
      'bad-edit',
      `The edit of ${edit.hook} has no field ${JSON.stringify(unknown)}; the fields are ${FIELDS.join(', ')}.`,
    )
  const idle = (IDLE[edit.op] ?? []).find((field) => edit[field] !== undefined)
  if (idle !== undefined)
    throw new HeadscopeError(
      'bad-edit',
      `The edit of ${edit.hook}: ${edit.op} reads no "${idle}"; leave it out, or choose another op.`,
    )
  if (edit.from !== undefined && edit.value !== undefined)
    throw new HeadscopeError('bad-edit', `The edit of ${edit.hook} has "value" and "from"; give one of them.`)
}

async function resolve(
  edit: Edit,
  hook: HookInfo,
  region: Region,
  context: EditContext,
  together: readonly HookInfo[],
): Promise<ResolvedEdit> {
  const rank = hook.axes.length
  switch (edit.op) {
    case 'zero':
      return { hook, kind: 'set', value: scalar(0, rank), mask: maskOf(region) }
    case 'scale': {
      const by = finite(edit, edit.by, 'scale needs "by", a finite number')
      const mask = maskOf(region)
      const data = Float32Array.from(mask.data, (on) => (on ? by : 1))
      return { hook, kind: 'scale', value: { data, shape: mask.shape }, mask: null }
    }
    case 'set': {
      const value = edit.from
        ? await sourced(edit, edit.from, hook, region, context, together)
        : constant(edit, hook, rank)
      return { hook, kind: 'set', value, mask: maskOf(region) }
    }
    case 'add': {
      const by = edit.by === undefined ? 1 : finite(edit, edit.by, '"by" must be a finite number')
      const value = edit.from
        ? await sourced(edit, edit.from, hook, region, context, together)
        : scalar(finite(edit, edit.value, 'add needs "from", or "value" as a finite number'), rank)
      return { hook, kind: 'add', value: masked(value, region, by), mask: null }
    }
    default:
      throw new HeadscopeError(
        'bad-edit',
        `"${String(edit.op)}" is not an edit; use zero, scale, set or add.`,
      )
  }
}

/** Refuses numbers of experts that do not exist: an edit of the chosen ones sets whole numbers. */
function refuseNoExpert({ hook, kind, value }: ResolvedEdit, edit: Edit, context: EditContext): void {
  if (!hook.name.endsWith('hook_expert_indices')) return
  const { count } = layerOf(context.spec, hook.segment)!.experts!
  const noOp = kind === 'scale' ? 1 : 0
  const fits = (number: number) =>
    kind === 'set' ? Number.isInteger(number) && number >= 0 && number < count : number === noOp
  if (value.data.every(fits)) return
  throw new HeadscopeError(
    'bad-edit',
    `The edit of ${edit.hook} would choose an expert that does not exist; set whole numbers from 0 to ${count - 1}.`,
  )
}

/** Refuses knockouts that leave a query of some head without any key: its row would be 0 / 0. */
function refuseEmptyRows(
  all: readonly { edit: Edit; hook: HookInfo; region: Region }[],
  context: EditContext,
): void {
  const knockouts = all.filter(({ edit }) => edit.op === 'set' && edit.value === '-inf')
  for (const name of new Set(knockouts.map(({ hook }) => hook.name))) {
    const same = knockouts.filter(({ hook }) => hook.name === name)
    const hook = same[0]!.hook
    const layer = layerOf(context.spec, hook.segment)!
    const { causal } = placeOf(context.spec, hook.segment).stack
    const cross = hook.cut.includes('source')
    const keyLengths = lengthsOf(hook, hook.axes.indexOf('key'), context)
    lengthsOf(hook, hook.axes.indexOf('query'), context).forEach((length, item) => {
      const keys = keyLengths[item]!
      const masks = same
        .filter(({ region }) => region.items.includes(item))
        .map(({ region }) => maskOf(region))
      if (masks.length === 0) return
      for (let head = 0; head < layer.nHeads; head++)
        for (let query = 0; query < length; query++) {
          let open = false
          for (let key = 0; key < keys && !open; key++)
            open =
              (cross || visible({ causal, window: layer.window }, query, key, length)) &&
              !masks.some((mask) => at(mask, [item, head, query, key]))
          if (!open)
            throw new HeadscopeError(
              'bad-edit',
              `The edits of ${name} leave query ${query} of head ${head} without any key, so its weights would not exist; leave at least one key.`,
            )
        }
    })
  }
}

function at(mask: Dense<Uint8Array>, index: readonly number[]): boolean {
  const strides = broadcastStrides(mask.shape)
  return mask.data[index.reduce((flat, i, axis) => flat + i * strides[axis]!, 0)] === 1
}
