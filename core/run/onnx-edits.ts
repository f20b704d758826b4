/**
 * Edits of an ONNX file → slots of its graph and what is fed to them for one item. In: the contract's `Edit`, prompts,
 * what runs a prompt. Out: slots, and feeds by item and rows. A recognised hook takes every edit; any other tensor, whose
 * axes nobody knows, takes a number. Everything that can be wrong is refused here, before anything runs.
 */
import { HeadscopeError } from '../errors.ts'
import type { Axis } from '../graph/axes.ts'
import { LOGITS, UNEMBED_OUT } from '../graph/hook-names.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import { slotInput } from '../graph/splice.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { OnnxFeed } from '../onnx/inputs.ts'
import { type TensorSlot, valueAfter } from '../onnx/splice.ts'
import { type Dense, itemOf, type Window, windowed } from './dense.ts'
import { type SourceRunner, sourcesOver } from './edit-sources.ts'
import { resolveEdits } from './edits.ts'
import type { OnnxNames } from './onnx-hooks.ts'
import type { OnnxTensor } from './onnx-session.ts'
import type { HookInfo } from './segments.ts'
import type { Edit, RunOptions } from './types.ts'

export interface OnnxEdits {
  readonly slots: readonly TensorSlot[]
  /** Inputs of the slots for one item and its rows. */
  feeds(item: number, window: Window): Map<string, OnnxFeed>
  /**
   * Where a hook is read: the end of a block and the beginning of the next are one tensor, and an edit of the second is
   * not seen at the first.
   */
  readAt(hook: string): string
}

export interface OnnxEditing {
  readonly file: string
  readonly spec: ModelSpec
  readonly names: OnnxNames
  readonly observable: readonly string[]
  /** Shapes and types of tensors in a run of one short prompt. */
  readonly probe: (tensors: readonly string[]) => Promise<ReadonlyMap<string, OnnxTensor>>
  /** Hooks of an unedited run. */
  readonly capture: (
    ids: readonly number[],
    hooks: readonly HookInfo[],
  ) => Promise<ReadonlyMap<string, Tensor>>
  readonly encode: (text: string) => number[]
}

/** `total` is the length of the whole run; more than the prompts' while generating. Throws `bad-edit`, `bad-request`. */
export async function resolveOnnxEdits(
  editing: OnnxEditing,
  edits: readonly Edit[],
  prompts: readonly (readonly number[])[],
  total: number,
  options: Pick<RunOptions, 'openRun'>,
): Promise<OnnxEdits> {
  if (edits.length === 0) return { slots: [], feeds: () => new Map(), readAt: editing.names.tensorOf }
  const named = edits.map((edit) => editing.observable.includes(edit.hook) && !isHook(editing, edit.hook))
  const unknown = edits.filter((_, i) => named[i])
  const tensors = [...new Set(edits.flatMap((edit) => tensorsOf(editing, edit)))]
  const probed = await editing.probe(tensors)
  for (const edit of unknown) refuseUnknownAxes(edit, probed.get(edit.hook)!)
  const runner: SourceRunner = {
    capture: (batch, hooks) => editing.capture(batch.main[0]!, hooks),
    batchOf: (ids) => ({ main: [ids], source: null }),
    encode: editing.encode,
  }
  // A tensor by its own name is edited first and read last.
  const rank = (hook: string) =>
    editing.names.hooks.findIndex(({ name }) => name === (hook === LOGITS ? UNEMBED_OUT : hook))
  const inOrder = await resolveEdits(edits, {
    spec: editing.spec,
    hooks: [
      ...editing.names.hooks,
      ...[...new Set(unknown.map(({ hook }) => hook))].map((name) => plainHook(name, probed.get(name)!)),
    ],
    lengths: prompts.map((ids) => ids.length),
    total,
    source: sourcesOver(runner, { main: prompts, source: null }, options),
  })
  const resolved = [...inOrder].sort((a, b) => rank(a.hook.name) - rank(b.hook.name))
  const slots = resolved.map(({ hook, kind }): TensorSlot => {
    const tensor = editing.names.tensorOf(hook.name)
    return { tensor, kind, type: floatType(editing.file, hook.name, probed.get(tensor)!) }
  })
  return {
    slots,
    readAt(hook) {
      const tensor = editing.names.tensorOf(hook)
      const last = rank(hook) < 0 ? Number.POSITIVE_INFINITY : rank(hook)
      const passed = resolved.filter(
        (edit) => editing.names.tensorOf(edit.hook.name) === tensor && rank(edit.hook.name) <= last,
      )
      return valueAfter(tensor, slots, passed.length)
    },
    feeds: (item, window) =>
      new Map(
        resolved.flatMap(({ hook, kind, value, mask }, n) => {
          const feed = (part: 'value' | 'mask', dense: Dense | Dense<Uint8Array>) => {
            const own = windowed(itemOf(dense as Dense, item), hook.cut, window)
            const type = part === 'mask' ? ('bool' as const) : ('float32' as const)
            return [slotInput(n, part), { type, data: own.data, shape: own.shape }] as const
          }
          return kind === 'set' ? [feed('value', value), feed('mask', mask!)] : [feed('value', value)]
        }),
      ),
  }
}

// --- Internal helpers ---

function isHook({ names }: OnnxEditing, name: string): boolean {
  return names.hooks.some((hook) => hook.name === name)
}

/** What an edit will replace; a name that means nothing is refused by resolveEdits, which knows the nearest. */
function tensorsOf({ names, observable }: OnnxEditing, { hook }: Edit): string[] {
  if (observable.includes(hook)) return [hook]
  try {
    return [...names.wanted([hook]).values()]
  } catch (error) {
    if (error instanceof HeadscopeError && error.code === 'unsupported') throw error // not observable
    return []
  }
}

/** A tensor that nobody recognised: one axis of items, and others of which nothing is known. */
function plainHook(name: string, { shape }: OnnxTensor): HookInfo {
  const axes = shape.map((_, i): Axis => (i === 0 ? 'batch' : 'one'))
  return { name, axes, cut: axes, shape: shape.map((_, i) => (i === 0 ? 'batch' : 1)), segment: 'embed' }
}

function refuseUnknownAxes(edit: Edit, { shape }: OnnxTensor): void {
  if (edit.from)
    throw new HeadscopeError(
      'bad-edit',
      `${edit.hook} is no hook that was recognised, so values cannot be laid over its axes; give a number, or edit a hook.`,
    )
  if (shape.length === 0)
    throw new HeadscopeError(
      'bad-edit',
      `${edit.hook} is one number for the whole text, not a value of its tokens; edit a tensor that is.`,
    )
}

function floatType(file: string, name: string, { type }: OnnxTensor): TensorSlot['type'] {
  if (type === 'float32' || type === 'float16') return type
  throw new HeadscopeError(
    'bad-edit',
    `${name} of ${file} holds ${type} numbers, but an edit needs floats; edit a tensor of floats.`,
  )
}
