/**
 * An ONNX file made by others, as a model that runs and is captured. In: the file. Out: a `Model` whose hooks are the
 * tensors that were recognised, and which also captures any other by its own name. Nothing in it is replaced: it is one
 * graph, so edits, restarts and gradients need the checkpoint folder. One prompt at a time, without a cache.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { HALVES } from '../checkpoint/half.ts'
import { openTokenizer, type RawConfig } from '../checkpoint/index.ts'
import { HeadscopeError, sentence } from '../errors.ts'
import { blockHook, LOGITS, matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import { type OnnxFile, readOnnx, withOutputs } from '../onnx/file.ts'
import { flowOf } from '../onnx/flow.ts'
import { type Feeder, feederOf, type OnnxFeed } from '../onnx/inputs.ts'
import { notObservable } from '../onnx/observable.ts'
import { type Recognised, recognise, type Tap } from '../onnx/recognise.ts'
import { type Device, requireDevice } from './devices.ts'
import type { Model, OpenOptions } from './model.ts'
import { throwIfCancelled } from './pass.ts'
import { predictionsOf } from './predictions-of.ts'
import { checkPrompts } from './prompts.ts'
import type { HookInfo } from './segments.ts'
import type { Run, RunItem, RunOptions } from './types.ts'
import { versions } from './versions.ts'

export interface OnnxModel extends Model {
  /** Tensors that can be captured by their own names, in the order of the computation. */
  readonly observable: readonly string[]
  /** Attention whose pattern does not exist in the graph. */
  readonly fused: Recognised['fused']
}

/** Opens an .onnx file. Throws `bad-checkpoint`, `unsupported` or `not-found` in one sentence. */
export async function openOnnx(path: string, options: OpenOptions = {}): Promise<OnnxModel> {
  const device = await requireDevice(options.device ?? 'cpu')
  const file = readOnnx(path)
  const feeder = feederOf(file.graph, file.name)
  const found = recognise(flowOf(file.graph))
  const logits = logitsOutput(file)
  const sessions = createSessions(file, device, options.threads ?? availableParallelism())
  const all = [...new Set([...found.taps.map((tap) => tap.tensor), logits])]
  const some = new Array<number>(feeder.length ?? 1).fill(0)
  const probe = await runOnce(await sessions.get(all), feeder.feeds(some), all)
  const spec = specOf(found, probe, logits)
  const hooks = hooksOf(found.taps, probe, spec)
  const { tokenizer, problem, warnings: tokenizerWarnings } = openTokenizer(file.folder)
  const name = file.name === 'model.onnx' ? basename(file.folder) : file.name
  const reason = (what: string) =>
    new HeadscopeError(
      'unsupported',
      `${file.name} is one graph made by others, so ${what}; open the checkpoint's folder (config.json and safetensors) for that.`,
    )
  let hash: string | null = null

  /** Tensors to fetch by the names asked for: hooks first, then any tensor by its own name. */
  function wanted(globs: readonly string[]): Map<string, string> {
    const names = hooks.map((hook) => hook.name)
    const missing = found.fused.flatMap(({ layer }) =>
      ['attn.hook_pattern', 'attn.hook_attn_scores'].map((local) => blockHook(layer, local)),
    )
    const matches = globs.flatMap((glob) => {
      if (/pattern|scores/.test(glob) && matchesOf(glob, missing).length > 0)
        throw new HeadscopeError('unsupported', notObservable(file.name, found))
      for (const some of [names, found.observable]) {
        const hits = matchesOf(glob, some, some === names)
        if (hits.length > 0) return hits
      }
      return matchHooks([glob], names) // throws, naming the nearest
    })
    return new Map(matches.map((name) => [name, tensorOf(name)]))
  }
  function tensorOf(name: string): string {
    if (name === LOGITS || name === UNEMBED_OUT) return logits
    return found.taps.find((tap) => tap.hook === name)?.tensor ?? name
  }

  return {
    path: resolve(path),
    name,
    spec,
    device,
    observable: found.observable,
    fused: found.fused,
    checkpoint: {
      path: resolve(path),
      name,
      config: Object.create(null) as RawConfig,
      tensors: new Map(),
      tokenizer,
      tokenizerProblem: problem,
      eosIds: [],
      warnings: [],
    },
    tokenizer,
    parameters: countParameters(file),
    hooks,
    warnings: [
      ...(problem === null ? [] : [problem]),
      ...tokenizerWarnings,
      ...(found.fused.length > 0 ? [notObservable(file.name, found)] : []),
      ...(found.layers === 0
        ? [
            `No attention is recognised in ${file.name}: its ${found.observable.length} tensors can be captured by their own names.`,
          ]
        : []),
    ],
    encode(text, encoding) {
      if (!tokenizer) throw new HeadscopeError('bad-prompt', `${problem} Give the prompt as token ids.`)
      return tokenizer.encode(text, encoding)
    },
    async contentHash() {
      hash ??= await hashOf(file)
      return { hash, nonFinite: [] }
    },
    captures: (globs) => [...wanted(globs).keys()],
    async run(ids, run = {}) {
      const single = typeof ids[0] === 'number' || ids.length === 0
      const prompts = (single ? [ids] : ids) as readonly (readonly number[])[]
      if ((run.edits ?? []).length > 0) throw reason('nothing in it can be replaced')
      if (run.decoderIds || run.tokenTypes) throw reason('it takes one text of token ids')
      const warnings = checkPrompts(prompts, spec)
      const names = wanted(run.capture ?? [])
      const unusual = [...names.values()].filter((tensor) => !all.includes(tensor))
      const session = await sessions.get([...all, ...unusual])
      return runPrompts({ session, feeder, prompts, run, names, logits, hooks, warnings }, () => ({
        modelPath: resolve(path),
        modelName: name,
        family: spec.family,
        contentHash: hash,
        capture: run.capture ?? [],
        edits: [],
        versions,
        device,
        dtype: 'f32',
      }))
    },
    reading: () => Promise.reject(reason('it has no encoder of ours')),
    generate: () => Promise.reject(reason('it is not continued token by token')),
    weight() {
      throw reason('its weights have no names of ours')
    },
    engine() {
      throw reason('it has no blocks to restart, edit or differentiate')
    },
    close: () => sessions.close(),
  }
}

// --- Internal helpers ---

/** Names that a glob matches; none where it matches nothing. */
function matchesOf(glob: string, names: readonly string[], logits = true): string[] {
  if (!logits && glob === LOGITS) return []
  try {
    return matchHooks([glob], names)
  } catch {
    return []
  }
}

function logitsOutput({ graph, name }: OnnxFile): string {
  const outputs = graph.output.map((output) => output.name)
  const logits =
    outputs.find((output) => output === 'logits') ?? outputs.find((output) => /logits/.test(output))
  if (logits) return logits
  if (outputs.length === 1) return outputs[0]!
  throw new HeadscopeError(
    'unsupported',
    `${name} has no output called logits (its outputs are ${outputs.slice(0, 5).join(', ')}); export it with its language-model head.`,
  )
}

/** Sessions by the tensors they hand out; the last two stay, since each holds the weights. */
function createSessions(file: OnnxFile, device: Device, threads: number) {
  const open = new Map<string, InferenceSession>()
  return {
    async get(tensors: readonly string[]): Promise<InferenceSession> {
      const key = [...new Set(tensors)].join('\n')
      const known = open.get(key)
      if (known) return known
      const session = await createSession(file, withOutputs(file, [...new Set(tensors)]), device, threads)
      open.set(key, session)
      for (const [oldest, old] of open) {
        if (open.size <= 2) break
        open.delete(oldest)
        await old.release()
      }
      return session
    },
    async close(): Promise<void> {
      for (const session of open.values()) await session.release()
      open.clear()
    },
  }
}

async function createSession(file: OnnxFile, bytes: Uint8Array, device: Device, threads: number) {
  try {
    return await InferenceSession.create(bytes, {
      executionProviders: device === 'cpu' ? ['cpu'] : [device, 'cpu'],
      // Constants are folded and copies removed; nothing is fused over a tensor that is handed out.
      graphOptimizationLevel: 'basic',
      enableCpuMemArena: false,
      intraOpNumThreads: threads,
      logSeverityLevel: 4,
      extra: { session: { model_external_initializers_file_folder_path: file.folder } },
    })
  } catch (error) {
    throw new HeadscopeError(
      'unsupported',
      `ONNX Runtime does not load ${file.name}: ${sentence(error).split('\n')[0]}`,
      { cause: error },
    )
  }
}

/** Float32 values of the tensors, by tensor name. */
async function runOnce(
  session: InferenceSession,
  feeds: ReadonlyMap<string, OnnxFeed>,
  fetch: readonly string[],
): Promise<Map<string, { data: Float32Array; shape: readonly number[] }>> {
  const given = Object.fromEntries(
    [...feeds].map(([name, { type, data, shape }]) => [
      name,
      new OrtTensor(type as 'float32', data as Float32Array, shape as number[]),
    ]),
  )
  let outputs: Awaited<ReturnType<InferenceSession['run']>>
  try {
    outputs = await session.run(given, [...new Set(fetch)])
  } catch (error) {
    throw new HeadscopeError(
      'unsupported',
      `ONNX Runtime could not run this graph on these tokens: ${sentence(error).split('\n')[0]}`,
      { cause: error },
    )
  }
  return new Map(
    Object.entries(outputs).map(([name, value]) => [name, { data: floats(value), shape: value.dims }]),
  )
}

function floats(tensor: OrtTensor): Float32Array {
  const { data } = tensor
  if (data instanceof Float32Array) return data
  if (tensor.type === 'float16' && data instanceof Uint16Array)
    return Float32Array.from(data, (bits) => HALVES[bits]!)
  return Float32Array.from(data as unknown as ArrayLike<number>, Number)
}

type Probe = Awaited<ReturnType<typeof runOnce>>

/** Sizes that a run of one token shows. */
function specOf(found: Recognised, probe: Probe, logits: string): ModelSpec {
  const shape = (hook: string) => {
    const tap = found.taps.find((one) => one.hook.endsWith(hook))
    return tap ? probe.get(tap.tensor)!.shape : null
  }
  const patterns = Array.from({ length: found.layers }, (_, layer) => {
    const tap = found.taps.find((one) => one.layer === layer && one.hook.endsWith('hook_pattern'))
    return tap ? probe.get(tap.tensor)!.shape[1]! : 1
  })
  const dModel = shape('hook_resid_pre')?.at(-1) ?? 1
  const dHead = shape('hook_z')?.at(-1) ?? 1
  return {
    ...PLAIN_MODEL,
    family: 'onnx',
    dModel,
    dVocab: probe.get(logits)!.shape.at(-1)!,
    nCtx: Number.MAX_SAFE_INTEGER, // the graph itself says when a prompt is too long
    positional: 'learned',
    norm: { kind: 'layer', eps: 0 },
    tied: false,
    stacks: [
      {
        name: 'decoder',
        causal: true,
        layers: patterns.map((nHeads) => ({
          ...PLAIN_LAYER,
          nHeads,
          nKvHeads: nHeads,
          dHead,
          dMlp: 1,
          act: 'gelu' as const,
          gated: false,
          scoreScale: 1,
        })),
      },
    ],
  }
}

function hooksOf(taps: readonly Tap[], probe: Probe, spec: ModelSpec): HookInfo[] {
  const sized = new Set(['head', 'd_head', 'd_model'])
  const known = taps.flatMap((tap): HookInfo[] => {
    const { shape } = probe.get(tap.tensor)!
    if (shape.length !== tap.axes.length) return [] // recognised, but laid out in another way
    const sizes = tap.axes.map((axis, i) => (sized.has(axis) ? shape[i]! : axis))
    return [{ name: tap.hook, axes: tap.axes, cut: tap.axes, shape: sizes, segment: tap.layer }]
  })
  const axes = ['batch', 'pos', 'd_vocab'] as const
  return [
    ...known,
    { name: UNEMBED_OUT, axes, cut: axes, shape: ['batch', 'pos', spec.dVocab], segment: 'unembed' },
  ]
}

function countParameters({ graph }: OnnxFile): Model['parameters'] {
  const total = graph.initializer.reduce((sum, { dims }) => sum + sizeOf(dims.map(Number)), 0)
  const none = { embedding: 0, positional: 0, unembedding: 0, attention: 0, mlp: 0, router: 0, norm: 0 }
  return { total, ...none, biases: 0, per_head: 0 }
}

/** sha-256 of the file and of the files that hold its weights. */
async function hashOf(file: OnnxFile): Promise<string> {
  const hash = createHash('sha256').update(file.bytes)
  for (const name of [...file.external].sort()) {
    hash.update(name)
    for await (const part of createReadStream(join(file.folder, name))) hash.update(part as Buffer)
  }
  return hash.digest('hex')
}

interface Work {
  readonly session: InferenceSession
  readonly feeder: Feeder
  readonly prompts: readonly (readonly number[])[]
  readonly run: RunOptions
  /** Names asked for → tensors. */
  readonly names: ReadonlyMap<string, string>
  readonly logits: string
  readonly hooks: readonly HookInfo[]
  readonly warnings: readonly string[]
}

/** The prompts one by one, put together as one batch. */
async function runPrompts(work: Work, provenance: () => Run['provenance']): Promise<Run> {
  const { session, feeder, prompts, run, names, logits } = work
  const pieces = new Map<string, { data: Float32Array; shape: readonly number[] }[]>()
  const items: RunItem[] = []
  const started = performance.now()
  for (const [i, ids] of prompts.entries()) {
    throwIfCancelled(run.signal)
    const outputs = await runOnce(session, feeder.feeds(ids), [logits, ...names.values()])
    for (const [name, tensor] of names) pieces.set(name, [...(pieces.get(name) ?? []), outputs.get(tensor)!])
    items.push(itemOf(ids, outputs.get(logits)!.data, run.top ?? 5))
    const perItem = (performance.now() - started) / 1000 / (i + 1)
    run.onProgress?.({ done: i + 1, total: prompts.length, secondsLeft: perItem * (prompts.length - i - 1) })
  }
  const captures = new Map<string, Tensor>()
  for (const [name, parts] of pieces) {
    const hook = work.hooks.find((one) => one.name === (name === LOGITS ? UNEMBED_OUT : name))
    const tensor = { ...joined(parts), axes: hook?.axes ?? [] }
    if (/hook_attn_scores$/.test(name)) hideMasked(tensor.data)
    if (run.onCapture) await run.onCapture(name, tensor)
    else captures.set(name, tensor)
  }
  return {
    items,
    provenance: provenance(),
    warnings: work.warnings,
    captured: [...names.keys()],
    get(name) {
      const tensor = captures.get(name)
      if (tensor) return tensor
      throw new HeadscopeError(
        'bad-request',
        `${name} was not captured in this run (captured: ${[...captures.keys()].join(', ') || 'nothing'}); name it in capture.`,
      )
    },
  }
}

/** Exporters write the mask as the lowest float; here a masked score is -∞, as everywhere. */
function hideMasked(scores: Float32Array): void {
  for (let i = 0; i < scores.length; i++) if (scores[i]! < -1e30) scores[i] = Number.NEGATIVE_INFINITY
}

function itemOf(ids: readonly number[], logits: Float32Array, top: number): RunItem {
  const positions = predictionsOf(logits, ids, top)
  const losses = positions.slice(0, -1).map(({ loss }) => loss)
  const known = losses.length > 0 && losses.every((loss) => loss !== null)
  const loss = known ? (losses as number[]).reduce((sum, value) => sum + value, 0) / losses.length : null
  return { ids, loss, positions }
}

/** Items [1, …] of unequal sizes as one batch, 0 beyond each item's own end. */
function joined(parts: readonly { data: Float32Array; shape: readonly number[] }[]) {
  const first = parts[0]!
  if (parts.length === 1) return { data: first.data, shape: [...first.shape] }
  const inner = first.shape.slice(1).map((_, i) => Math.max(...parts.map((part) => part.shape[i + 1]!)))
  const size = sizeOf(inner)
  const data = new Float32Array(parts.length * size)
  parts.forEach((part, item) => {
    copy(part.data, part.shape.slice(1), data.subarray(item * size, (item + 1) * size), inner)
  })
  return { data, shape: [parts.length, ...inner] }
}

function copy(
  from: Float32Array,
  small: readonly number[],
  to: Float32Array,
  large: readonly number[],
): void {
  if (small.length <= 1) {
    to.set(from)
    return
  }
  const narrow = sizeOf(small.slice(1))
  const wide = sizeOf(large.slice(1))
  for (let i = 0; i < small[0]!; i++)
    copy(
      from.subarray(i * narrow, (i + 1) * narrow),
      small.slice(1),
      to.subarray(i * wide, (i + 1) * wide),
      large.slice(1),
    )
}
