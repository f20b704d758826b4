/** Reference values from elsewhere: any hooks in a safetensors file, compared with a run on its `input_ids` (and `token_type_ids`, `decoder_input_ids`). */
import { basename } from 'node:path'
import { readSafetensorsFile, type StoredTensor } from '../../checkpoint/index.ts'
import { HeadscopeError } from '../../errors.ts'
import { LOGITS } from '../../graph/hook-names.ts'
import type { Model } from '../../run/model.ts'
import { type Check, difference, measured, TOLERANCE } from './check.ts'

/**
 * One check per hook of the file that this model has; other names are ignored. Throws `bad-request` when the file has
 * no `input_ids` or no hook of this model.
 */
export async function goldenChecks(model: Model, file: string): Promise<Check[]> {
  const tensors = readSafetensorsFile(file)
  const rows = idRows(tensors.get('input_ids'), file)
  const known = new Set([...model.hooks.map((hook) => hook.name), LOGITS])
  const names = [...tensors.keys()].filter((name) => known.has(name))
  if (names.length === 0)
    throw new HeadscopeError(
      'bad-request',
      `${basename(file)} holds no hook of this model beside input_ids; save at least "logits" in it.`,
    )
  const types = tensors.get('token_type_ids')
  const tokenTypes = types && model.spec.tokenTypes !== null ? { tokenTypes: idRows(types, file) } : {}
  const own = tensors.get('decoder_input_ids')
  const decoderIds =
    own && model.spec.encoderDecoder ? { decoderIds: idRows(own, file, 'decoder_input_ids') } : {}
  const run = await model.run(rows, { ...tokenTypes, ...decoderIds, capture: names, top: 0 })
  return names.map((name) => {
    const reference = tensors.get(name)!
    const ours = run.get(name)
    if (!(reference.data instanceof Float32Array)) return unlike(name, `it is ${reference.dtype}, not float`)
    if (reference.shape.join() !== ours.shape.join())
      return unlike(name, `its shape is [${reference.shape}], the run's [${ours.shape}]`)
    return measured(name, difference(ours.data, reference.data))
  })
}

// --- Internal helpers ---

function idRows(tensor: StoredTensor | undefined, file: string, name = 'input_ids'): number[][] {
  if (!tensor || !(tensor.data instanceof BigInt64Array) || tensor.shape.length !== 2)
    throw new HeadscopeError(
      'bad-request',
      `${basename(file)} needs a tensor ${name} of int64 [batch, pos] that says what to run.`,
    )
  const [batch, length] = tensor.shape as [number, number]
  const flat = Array.from(tensor.data, Number)
  return Array.from({ length: batch }, (_, item) => flat.slice(item * length, (item + 1) * length))
}

function unlike(name: string, why: string): Check {
  return { name, max_error: null, tolerance: TOLERANCE, ok: false, why }
}
