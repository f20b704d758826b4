/**
 * Reference values from elsewhere: any hooks in a safetensors file, and gradients at hooks, compared with a run on its
 * `input_ids` (and `token_type_ids`, `decoder_input_ids`). Where an `attention_mask` stands beside unequal prompts, only
 * their own tokens run and count. Costs one run, and one backward pass where gradients are compared.
 */
import { basename } from 'node:path'
import { readSafetensorsFile, type StoredTensor } from '../../checkpoint/index.ts'
import { HeadscopeError } from '../../errors.ts'
import { LOGITS } from '../../graph/hook-names.ts'
import type { Tensor } from '../../graph/tensor.ts'
import { gradients } from '../../run/gradients-of.ts'
import type { Metric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import { type Check, difference, measured, TOLERANCE } from './check.ts'
import { idRows, lengthsOf, ownValues } from './golden-rows.ts'

/** Gradients are sums of more products than the values that they belong to. */
export const GRADIENT_TOLERANCE = 2e-4
const GRADIENT = 'grad.'

/**
 * One check per hook of the file that this model has, and per `grad.<hook>`; other names are ignored. Gradients need
 * the `metric` that they are of, else their check says that they are not compared. Throws `bad-request` when the file
 * has no `input_ids`, a mask that is not padding at the right, or no hook of this model.
 */
export async function goldenChecks(
  model: Model,
  file: string,
  metric?: Metric,
  signal?: AbortSignal,
): Promise<Check[]> {
  const label = basename(file)
  const tensors = readSafetensorsFile(file)
  const known = new Set([...model.hooks.map((hook) => hook.name), LOGITS])
  const names = [...tensors.keys()].filter((name) => known.has(name))
  const graded = [...tensors.keys()].filter(
    (name) => name.startsWith(GRADIENT) && known.has(name.slice(GRADIENT.length)),
  )
  const { prompts, lengths, options: asked } = askedOf(model, tensors, label)
  const options = { ...asked, ...(signal ? { signal } : {}) }
  if (names.length + graded.length === 0)
    throw new HeadscopeError(
      'bad-request',
      `${label} holds no hook of this model beside input_ids; save at least "logits" in it.`,
    )
  const compare = (name: string, ours: Tensor, tolerance: number): Check => {
    const reference = tensors.get(name)!
    if (!(reference.data instanceof Float32Array)) return unlike(name, `it is ${reference.dtype}, not float`)
    if (reference.shape.join() !== ours.shape.join())
      return unlike(name, `its shape is [${reference.shape}], the run's [${ours.shape}]`)
    const { shape, axes } = ours
    const own = (data: Float32Array) => (lengths ? ownValues(data, shape, axes, lengths) : data)
    return measured(name, difference(own(ours.data), own(reference.data)), tolerance)
  }
  const checks: Check[] = []
  if (names.length > 0) {
    const run = await model.run(prompts, { ...options, capture: names, top: 0 })
    checks.push(...names.map((name) => compare(name, run.get(name), TOLERANCE)))
  }
  if (graded.length === 0) return checks
  if (!metric) return [...checks, ...graded.map(notCompared)]
  const hooks = graded.map((name) => name.slice(GRADIENT.length))
  const { grads } = await gradients(model, prompts, { ...options, metric, hooks })
  const compared = graded.map((name) => {
    const ours = grads.get(name.slice(GRADIENT.length))
    return ours ? compare(name, ours, GRADIENT_TOLERANCE) : unlike(name, 'no gradient reaches this hook')
  })
  return [...checks, ...compared]
}

// --- Internal helpers ---

/** What is run: the prompts of the file without padding, and what stands beside them. */
function askedOf(model: Model, tensors: ReadonlyMap<string, StoredTensor>, label: string) {
  const { spec } = model
  const types = spec.tokenTypes === null ? undefined : tensors.get('token_type_ids')
  const own = spec.encoderDecoder ? tensors.get('decoder_input_ids') : undefined
  const rows = idRows(tensors.get('input_ids'), label, 'input_ids')
  const mask = tensors.get('attention_mask')
  const masked = mask ? lengthsOf(idRows(mask, label, 'attention_mask'), rows, label) : null
  const padded = masked?.some((length, item) => length < rows[item]!.length) ?? false
  if (padded && spec.encoderDecoder)
    throw new HeadscopeError(
      'bad-request',
      `${label} pads prompts of an encoder, and its mask does not say where the decoder's end; save one file for each length.`,
    )
  const lengths = padded ? masked! : null
  const cut = (list: number[][]) => (lengths ? list.map((row, item) => row.slice(0, lengths[item])) : list)
  return {
    prompts: cut(rows),
    lengths,
    options: {
      ...(types ? { tokenTypes: cut(idRows(types, label, 'token_type_ids')) } : {}),
      ...(own ? { decoderIds: idRows(own, label, 'decoder_input_ids') } : {}),
    },
  }
}

function unlike(name: string, why: string): Check {
  return { name, max_error: null, tolerance: TOLERANCE, ok: false, why }
}

function notCompared(name: string): Check {
  const why = 'not compared: say what it is a gradient of, with --metric or the option metric'
  return { name, max_error: null, tolerance: GRADIENT_TOLERANCE, ok: null, why }
}
