/**
 * Where an edit's values come from: another item, other ids, a mean over a corpus, a file, a stored run, numbers. A
 * prompt behind an edit of several hooks (a glob) runs once for all of them.
 */
import { readSafetensorsFile } from '../checkpoint/index.ts'
import { HeadscopeError } from '../errors.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { meanOver } from './corpus-mean.ts'
import type { EditContext } from './edit-region.ts'
import type { Engine } from './engine.ts'
import { runPass } from './pass.ts'
import { runUnembed } from './predictions.ts'
import { readPromptFile } from './prompt-file.ts'
import { type Batch, batchOf, checkBatch, rightPad, sourceOf } from './prompts.ts'
import type { HookInfo } from './segments.ts'
import type { EditSource, MeanPrompt, RunOptions } from './types.ts'

/** What runs the prompts behind edits. */
export interface SourceRunner {
  /** Hooks of an unedited run of a batch of one prompt. */
  capture(
    batch: Batch,
    hooks: readonly HookInfo[],
    tokenTypes?: readonly number[],
  ): Promise<ReadonlyMap<string, Tensor>>
  batchOf(ids: readonly number[], decoderIds?: readonly number[]): Batch
  encode(text: string): number[]
}

/** A source of values for one run's edits. Throws `bad-edit` naming the source and the rule. */
export function createSources(
  engine: Engine,
  batch: Batch,
  options: Pick<RunOptions, 'openRun' | 'tokenTypes'>,
): EditContext['source'] {
  const { whole } = engine
  const runner: SourceRunner = {
    capture: (one, hooks, tokenTypes) =>
      whole && one.source ? captureBoth(whole, one, hooks) : captureHooks(engine, one, hooks, tokenTypes),
    // A decoder over one text takes values from another text, where that is given beside the decoder's own.
    batchOf: (ids, decoderIds) =>
      batchOf((whole && decoderIds ? whole : engine).model.spec, [ids], decoderIds && [decoderIds]),
    encode: engine.encode,
  }
  return sourcesOver(runner, batch, options)
}

/** The same over whatever runs prompts. */
export function sourcesOver(
  runner: SourceRunner,
  batch: Batch,
  options: Pick<RunOptions, 'openRun' | 'tokenTypes'>,
): EditContext['source'] {
  const captured = new Map<EditSource, Promise<ReadonlyMap<string, Tensor>>>()
  return async (from, hook, together) => {
    checkSource(from)
    if ('values' in from)
      return { data: from.values, shape: from.shape, axes: hook.axes.slice(-from.shape.length) }
    if ('file' in from) return fileTensor(from.file, from.tensor, hook)
    if ('run' in from) {
      if (options.openRun) return options.openRun(from.run, hook.name)
      throw new HeadscopeError(
        'bad-edit',
        `The edit takes values from run ${from.run}, but no store is open; name one.`,
      )
    }
    const known = captured.get(from) ?? captureAll(runner, from, together, batch, options)
    captured.set(from, known)
    return (await known).get(hook.name)!
  }
}

// --- Internal helpers ---

const SOURCES: readonly string[] = ['item', 'ids', 'run', 'mean', 'file', 'values']

/** Refuses a source that is none, which would otherwise read something else. Throws `bad-edit`. */
function checkSource(from: EditSource): void {
  const kinds = SOURCES.filter((name) => name in from)
  if (kinds.length !== 1)
    throw new HeadscopeError(
      'bad-edit',
      `"from" of an edit must have one of ${SOURCES.join(', ')}, but has ${kinds.length === 0 ? 'none' : kinds.join(' and ')}.`,
    )
  if ('mean' in from && !['all', 'pos', undefined].includes(from.over))
    throw new HeadscopeError(
      'bad-edit',
      `"over" of a mean is ${JSON.stringify(from.over)}, but must be "all" or "pos".`,
    )
}

type MeanSource = Extract<EditSource, { readonly mean: unknown }>
type Prompted = Extract<EditSource, { item: number } | { ids: readonly number[] }> | MeanSource

/** The hooks' values on the source's prompts. */
async function captureAll(
  runner: SourceRunner,
  from: Prompted,
  hooks: readonly HookInfo[],
  batch: Batch,
  options: Pick<RunOptions, 'tokenTypes'>,
): Promise<ReadonlyMap<string, Tensor>> {
  if ('mean' in from) return corpusMean(runner, from, hooks)
  if ('ids' in from) return runner.capture(runner.batchOf(from.ids, from.decoder_ids), hooks)
  const ids = batch.main[from.item]
  if (!ids)
    throw new HeadscopeError(
      'bad-edit',
      `There is no item ${from.item} to take values from: the batch has ${batch.main.length}.`,
    )
  const source = batch.source && [batch.source[from.item]!]
  return runner.capture({ main: [ids], source }, hooks, options.tokenTypes?.[from.item])
}

async function corpusMean(
  runner: SourceRunner,
  { mean, over = 'all' }: MeanSource,
  hooks: readonly HookInfo[],
): Promise<ReadonlyMap<string, Tensor>> {
  const prompts: readonly MeanPrompt[] = typeof mean === 'string' ? readPromptFile(mean) : mean
  if (prompts.length === 0)
    throw new HeadscopeError('bad-edit', 'The edit takes a mean over no prompt; give at least one.')
  const count = prompts.length === 1 ? '1 prompt' : `${prompts.length} prompts`
  const add = meanOver(over, `The mean over ${typeof mean === 'string' ? mean : count}`)
  for (const prompt of prompts) {
    const batch =
      'ids' in prompt
        ? runner.batchOf(prompt.ids, prompt.decoder_ids)
        : runner.batchOf(runner.encode(prompt.text))
    const captured = await runner.capture(batch, hooks)
    for (const [name, tensor] of captured) add.tensor(name, tensor)
  }
  return add.finish()
}

/** A decoder's hooks of a run of the whole model, under the names that they have without an encoder. */
async function captureBoth(
  whole: Engine,
  batch: Batch,
  hooks: readonly HookInfo[],
): Promise<Map<string, Tensor>> {
  const known = new Set(whole.hooks.map(({ name }) => name))
  const named = new Map(
    hooks.map(({ name }) => [known.has(`decoder.${name}`) ? `decoder.${name}` : name, name]),
  )
  const found = await captureHooks(
    whole,
    batch,
    whole.hooks.filter(({ name }) => named.has(name)),
  )
  return new Map([...found].map(([name, tensor]) => [named.get(name)!, tensor]))
}

/** Some hooks of an unedited run of one prompt. */
async function captureHooks(
  engine: Engine,
  batch: Batch,
  hooks: readonly HookInfo[],
  tokenTypes?: readonly number[],
): Promise<Map<string, Tensor>> {
  checkBatch(batch, engine.model.spec)
  const ids = batch.main[0]!
  const captured = new Map<string, Tensor>()
  const onTensor = (hook: HookInfo, tensor: Tensor) => {
    captured.set(hook.name, tensor)
  }
  const wanted = new Set(hooks.map((hook) => hook.name))
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
  if (hooks.some((hook) => hook.segment === 'unembed'))
    await runUnembed(engine, {
      resid: state.get('resid')!,
      start: 0,
      targets: [[]],
      top: 0,
      wanted,
      edits: [],
      onTensor,
    })
  return captured
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
