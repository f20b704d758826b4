/**
 * Captures that were made elsewhere become a run: a safetensors file with hook names and `input_ids`, for instance
 * saved from TransformerLens. In: a file and the model that it is of. Out: what `store.beginRun` takes. Shapes are
 * checked against the model before anything is written; predictions come from `logits` where the file has them.
 */
import { basename, resolve } from 'node:path'
import { readSafetensorsFile, type StoredTensor } from '../checkpoint/index.ts'
import { HeadscopeError } from '../errors.ts'
import { LOGITS, UNEMBED_OUT } from '../graph/hook-names.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Model } from '../run/model.ts'
import { checkPrompts } from '../run/prompts.ts'
import type { Prediction, Provenance } from '../run/types.ts'
import { versions } from '../run/versions.ts'
import type { Store } from '../store/capture-store.ts'

export interface ImportedRun {
  readonly ids: readonly (readonly number[])[]
  /** By hook name, in the model's order. */
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly items: readonly { readonly loss: number | null; readonly positions: readonly Prediction[] }[]
  readonly provenance: Provenance
  readonly warnings: readonly string[]
}

/** Names beside hooks that such files hold. */
const BESIDE = new Set(['input_ids', 'attention_mask', 'token_type_ids', 'position_ids'])
const TOP = 5

/** Throws `bad-request` naming the file, the tensor and the rule. */
export function readCapture(model: Model, file: string): ImportedRun {
  const label = basename(file)
  if (model.spec.encoderDecoder)
    throw new HeadscopeError(
      'unsupported',
      `Captures of the family ${model.spec.family} hold two texts, which import does not read; run the model here instead.`,
    )
  const stored = readSafetensorsFile(file)
  const ids = promptsOf(stored, label)
  const warnings = [
    `Imported from ${resolve(file)}: computed elsewhere, and not checked here.`,
    ...checkPrompts(ids, model.spec),
  ]
  const total = Math.max(...ids.map((row) => row.length))
  const tensors = new Map<string, Tensor>()
  for (const hook of model.hooks) {
    const name = hook.name === UNEMBED_OUT && !stored.has(UNEMBED_OUT) ? LOGITS : hook.name
    const tensor = stored.get(name)
    if (!tensor) continue
    const shape = hook.shape.map((size, i) => {
      if (typeof size === 'number') return size
      return hook.axes[i] === 'batch' ? ids.length : total
    })
    if (!(tensor.data instanceof Float32Array))
      throw new HeadscopeError(
        'bad-request',
        `${label}: ${name} is ${tensor.dtype}, but captures are F32, F16 or BF16; convert it before it is saved.`,
      )
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i]))
      throw new HeadscopeError(
        'bad-request',
        `${label}: ${name} has the shape [${tensor.shape.join(', ')}], but in this model with these input_ids it is [${shape.join(', ')}]; is the capture of another model?`,
      )
    tensors.set(hook.name === UNEMBED_OUT ? LOGITS : hook.name, { data: tensor.data, shape, axes: hook.axes })
  }
  const known = new Set([...tensors.keys(), ...BESIDE, UNEMBED_OUT])
  const unknown = [...stored.keys()].filter((name) => !known.has(name))
  if (tensors.size === 0)
    throw new HeadscopeError(
      'bad-request',
      `${label} holds no tensor under a hook name of this model (it holds ${shortList([...stored.keys()])}); names are as blocks.0.attn.hook_pattern.`,
    )
  if (unknown.length > 0)
    warnings.push(
      `${label}: ${shortList(unknown)} ${unknown.length === 1 ? 'is no hook' : 'are no hooks'} of this model, and not imported.`,
    )
  const logits = tensors.get(LOGITS)
  return {
    ids,
    tensors,
    items: ids.map((row, item) =>
      logits ? predictionsOf(row, logits, item) : { loss: null, positions: [] },
    ),
    provenance: {
      modelPath: model.path,
      modelName: model.name,
      family: model.spec.family,
      contentHash: null,
      capture: [...tensors.keys()],
      edits: [],
      versions,
      device: 'imported',
      dtype: 'f32',
    },
    warnings,
  }
}

/**
 * Reads a capture and keeps it as a run of the store; the run's number. `spec` is the model's summary that runs carry.
 * When anything fails, nothing of it stays. Throws as `readCapture`, and what the store throws.
 */
export async function importCapture(
  store: Pick<Store, 'beginRun'>,
  model: Model,
  file: string,
  spec: unknown,
): Promise<{
  readonly run: number
  readonly hooks: readonly string[]
  readonly prompts: number
  readonly warnings: readonly string[]
}> {
  const capture = readCapture(model, file)
  const { hash } = await model.contentHash()
  const { tokenizer } = model
  const writer = store.beginRun({
    provenance: capture.provenance,
    spec,
    items: capture.ids.map((ids) => ({ ids, ...(tokenizer ? { tokens: tokenizer.view(ids) } : {}) })),
    warnings: capture.warnings,
  })
  try {
    for (const [hook, tensor] of capture.tensors) writer.write(hook, tensor)
    const run = writer.complete({ items: capture.items, contentHash: hash })
    return {
      run,
      hooks: [...capture.tensors.keys()],
      prompts: capture.ids.length,
      warnings: capture.warnings,
    }
  } catch (error) {
    writer.abort()
    throw error
  }
}

// --- Internal helpers ---

/** Rows of input_ids, cut to where the mask ends. */
function promptsOf(stored: ReadonlyMap<string, StoredTensor>, label: string): number[][] {
  const rows = wholeRows(stored, 'input_ids', label)
  if (!rows)
    throw new HeadscopeError(
      'bad-request',
      `${label} holds no input_ids, so nobody knows which tokens were run; save them beside the captures ([batch, pos], int64).`,
    )
  const mask = wholeRows(stored, 'attention_mask', label)
  return rows.map((row, item) => {
    const own = mask?.[item]
    if (!own) return row
    const length = own.indexOf(0) < 0 ? row.length : own.indexOf(0)
    if (own.length !== row.length || own.slice(length).some((one) => one !== 0) || length === 0)
      throw new HeadscopeError(
        'bad-request',
        `${label}: the attention_mask of prompt ${item} is not ones and then zeros; pad at the right before capturing.`,
      )
    return row.slice(0, length)
  })
}

function wholeRows(
  stored: ReadonlyMap<string, StoredTensor>,
  name: string,
  label: string,
): number[][] | null {
  const tensor = stored.get(name)
  if (!tensor) return null
  const shape = tensor.shape.length === 1 ? [1, ...tensor.shape] : tensor.shape
  if (shape.length !== 2 || tensor.dtype.startsWith('F') || tensor.dtype === 'BF16')
    throw new HeadscopeError(
      'bad-request',
      `${label}: ${name} is ${tensor.dtype} [${tensor.shape.join(', ')}], but must be whole numbers [batch, pos].`,
    )
  const [batch, length] = shape as [number, number]
  const flat = Array.from(tensor.data as ArrayLike<number | bigint>, Number)
  return Array.from({ length: batch }, (_, item) => flat.slice(item * length, (item + 1) * length))
}

/** Top tokens and losses of one item, from its logits. */
function predictionsOf(ids: readonly number[], logits: Tensor, item: number) {
  const [, rows, vocab] = logits.shape as [number, number, number]
  const positions = ids.map((_, pos): Prediction => {
    const from = (item * rows + pos) * vocab
    const row = logits.data.subarray(from, from + vocab)
    const most = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    const sum = most + Math.log(row.reduce((total, value) => total + Math.exp(value - most), 0))
    const finite = Number.isFinite(sum)
    const order = Array.from(row.keys()).filter((id) => Number.isFinite(row[id]!))
    order.sort((a, b) => row[b]! - row[a]! || a - b)
    const next = ids[pos + 1]
    return {
      top: order
        .slice(0, TOP)
        .map((id) => ({ id, logit: row[id]!, prob: finite ? Math.exp(row[id]! - sum) : null })),
      loss: next === undefined || !finite ? null : sum - row[next]!,
    }
  })
  const losses = positions.slice(0, -1).map(({ loss }) => loss)
  const known = losses.length > 0 && losses.every((loss) => loss !== null)
  return { positions, loss: known ? losses.reduce((sum, loss) => sum + loss!, 0) / losses.length : null }
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ') || 'nothing'
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown
}
