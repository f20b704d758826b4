/** Where an edit's values come from: another item, other ids, a mean over a corpus, a file, a stored run, numbers. */
import { readSafetensorsFile } from '../checkpoint/index.ts'
import { HeadscopeError } from '../errors.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import type { Engine } from './engine.ts'
import { runPass } from './pass.ts'
import { runUnembed } from './predictions.ts'
import { type Batch, batchOf, checkBatch, rightPad, sourceOf } from './prompts.ts'
import type { HookInfo } from './segments.ts'
import type { EditSource, RunOptions } from './types.ts'

/** The values at `hook`, [1, …] with the source's own positions. Throws `bad-edit` naming the source and the rule. */
export async function sourceTensor(
  engine: Engine,
  from: EditSource,
  hook: HookInfo,
  batch: Batch,
  options: Pick<RunOptions, 'openRun' | 'tokenTypes'>,
): Promise<Tensor> {
  if ('item' in from) {
    const ids = batch.main.at(from.item)
    if (!ids || from.item < 0)
      throw new HeadscopeError(
        'bad-edit',
        `There is no item ${from.item} to take values from: the batch has ${batch.main.length}.`,
      )
    const source = batch.source && [batch.source[from.item]!]
    return captureOne(engine, { main: [ids], source }, hook, options.tokenTypes?.[from.item])
  }
  if ('ids' in from) {
    const decoderIds = from.decoder_ids && [from.decoder_ids]
    return captureOne(engine, batchOf(engine.model.spec, [from.ids], decoderIds), hook)
  }
  if ('values' in from)
    return { data: from.values, shape: from.shape, axes: hook.axes.slice(-from.shape.length) }
  if ('file' in from) return fileTensor(from.file, from.tensor, hook)
  if ('run' in from) {
    if (!options.openRun)
      throw new HeadscopeError(
        'bad-edit',
        `The edit takes values from run ${from.run}, but no store is open; name one.`,
      )
    return options.openRun(from.run, hook.name)
  }
  throw new HeadscopeError('bad-edit', 'A mean over a corpus needs prompts as ids; this source is not known.')
}

// --- Internal helpers ---

/** One hook of an unedited run of one prompt. */
async function captureOne(
  engine: Engine,
  batch: Batch,
  hook: HookInfo,
  tokenTypes?: readonly number[],
): Promise<Tensor> {
  checkBatch(batch, engine.model.spec)
  const ids = batch.main[0]!
  let captured: Tensor | null = null
  const onTensor = (_: HookInfo, tensor: Tensor) => {
    captured = tensor
  }
  const wanted = new Set([hook.name])
  const { state } = await runPass(engine, {
    ...sourceOf(batch),
    ids: rightPad([ids]),
    tokenTypes: tokenTypes && [tokenTypes],
    lengths: [ids.length],
    start: 0,
    total: ids.length,
    wanted,
    edits: [],
    onTensor,
  })
  if (hook.segment === 'unembed')
    await runUnembed(engine, {
      resid: state.get('resid')!,
      start: 0,
      targets: [[]],
      top: 0,
      wanted,
      edits: [],
      onTensor,
    })
  return captured!
}

function fileTensor(file: string, name: string, hook: HookInfo): Tensor {
  const tensors = readSafetensorsFile(file)
  const tensor = tensors.get(name)
  if (!tensor)
    throw new HeadscopeError(
      'bad-edit',
      `${file} holds no tensor ${name}; it holds ${[...tensors.keys()].join(', ')}.`,
    )
  if (!(tensor.data instanceof Float32Array))
    throw new HeadscopeError(
      'bad-edit',
      `The tensor ${name} of ${file} is ${tensor.dtype}, but an edit needs F32, F16 or BF16.`,
    )
  if (sizeOf(tensor.shape) !== tensor.data.length)
    throw new HeadscopeError(
      'internal',
      `The tensor ${name} of ${file} has a shape that does not fit its data.`,
    )
  return { data: tensor.data, shape: tensor.shape, axes: hook.axes.slice(-tensor.shape.length) }
}
