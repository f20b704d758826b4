/**
 * An ONNX file made by others, as a model that runs, is captured, edited and continued. In: the file. Out: a `Model`
 * whose hooks are the tensors that were recognised, and which also captures any other by its own name. It is one graph:
 * restarts in its middle and gradients need the checkpoint folder. Prompts run one after the other.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { openTokenizer, type RawConfig, readEosIds } from '../checkpoint/index.ts'
import { HeadscopeError } from '../errors.ts'
import { sizeOf } from '../graph/tensor.ts'
import { type OnnxFile, readOnnx } from '../onnx/file.ts'
import { flowOf } from '../onnx/flow.ts'
import { feederOf } from '../onnx/inputs.ts'
import { notObservable } from '../onnx/observable.ts'
import { type Recognised, recognise } from '../onnx/recognise.ts'
import { requireDevice } from './devices.ts'
import type { GenerateOptions } from './generate.ts'
import type { Model, OpenOptions } from './model.ts'
import { captureOf, runPrompts } from './onnx-batch.ts'
import { type OnnxEditing, resolveOnnxEdits } from './onnx-edits.ts'
import { generateOnnx } from './onnx-generate.ts'
import { logitsOutput, namesOf, specOf } from './onnx-hooks.ts'
import { createOnnxSessions } from './onnx-session.ts'
import { batchedIds, checkPrompts } from './prompts.ts'
import type { RunOptions } from './types.ts'
import { versions } from './versions.ts'

export interface OnnxModel extends Model {
  /** Tensors that can be captured and edited by their own names, in the order of the computation. */
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
  const sessions = createOnnxSessions(file, device, options.threads ?? availableParallelism())
  // Every session hands out the same tensors, so that a capture changes no kernel.
  const all = [...new Set([...found.taps.map((tap) => tap.tensor), logits])]
  const withAll = (more: Iterable<string>) => [...all, ...[...more].filter((tensor) => !all.includes(tensor))]
  const some = new Array<number>(feeder.length ?? 1).fill(0)
  const probe = await sessions.run({ feeds: feeder.feeds(some), outputs: all })
  const spec = specOf(found, probe, logits)
  const names = namesOf(file.name, found, probe, spec, logits)
  const { hooks } = names
  const { tokenizer, problem, warnings: tokenizerWarnings } = openTokenizer(file.folder)
  const config = Object.create(null) as RawConfig
  const eos = readEosIds(file.folder, config)
  const name = file.name === 'model.onnx' ? basename(file.folder) : file.name
  const reason = (what: string) =>
    new HeadscopeError(
      'unsupported',
      `${file.name} is one graph made by others, so ${what}; open the checkpoint's folder (config.json and safetensors) for that.`,
    )
  let hash: string | null = null

  const encode: Model['encode'] = (text, encoding) => {
    if (!tokenizer) throw new HeadscopeError('bad-prompt', `${problem} Give the prompt as token ids.`)
    return tokenizer.encode(text, encoding)
  }
  const editing: OnnxEditing = {
    file: file.name,
    spec,
    names,
    observable: found.observable,
    probe: (tensors) => sessions.run({ feeds: feeder.feeds(some), outputs: withAll(tensors) }),
    async capture(ids, wanted) {
      checkPrompts([ids], spec)
      const results = await sessions.run({ feeds: feeder.feeds(ids), outputs: all })
      return new Map(
        wanted.map((hook) => [
          hook.name,
          captureOf(hook.name, results.get(names.tensorOf(hook.name))!, hooks),
        ]),
      )
    },
    encode,
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
      config,
      tensors: new Map(),
      tokenizer,
      tokenizerProblem: problem,
      eosIds: eos.ids,
      warnings: [],
    },
    tokenizer,
    parameters: countParameters(file),
    hooks,
    warnings: [
      ...(problem === null ? [] : [problem]),
      ...tokenizerWarnings,
      ...eos.warnings,
      ...(found.fused.length > 0 ? [notObservable(file.name, found)] : []),
      ...(found.layers === 0
        ? [
            `No attention is recognised in ${file.name}: its ${found.observable.length} tensors can be captured by their own names.`,
          ]
        : []),
    ],
    encode,
    async contentHash() {
      hash ??= await hashOf(file)
      return { hash, nonFinite: [] }
    },
    captures: (globs) => [...names.wanted(globs).keys()],
    async run(ids, run: RunOptions = {}) {
      const prompts = batchedIds(ids)
      if (run.decoderIds || run.tokenTypes) throw reason('it takes one text of token ids')
      const warnings = checkPrompts(prompts, spec)
      const captured = [...names.wanted(run.capture ?? []).keys()]
      const total = Math.max(...prompts.map((prompt) => prompt.length))
      const edits = await resolveOnnxEdits(editing, run.edits ?? [], prompts, total, run)
      const wanted = new Map(captured.map((one) => [one, edits.readAt(one)]))
      const outputs = withAll(wanted.values())
      return runPrompts({
        async runItem(own, item) {
          const feeds = feeder.feeds(own)
          const window = { start: 0, rows: own.length, keys: own.length }
          for (const [input, feed] of edits.feeds(item, window)) feeds.set(input, feed)
          return sessions.run({ feeds, outputs, fetch: [logits, ...wanted.values()], slots: edits.slots })
        },
        prompts,
        run,
        names: wanted,
        logits,
        hooks,
        warnings,
        provenance: () => ({
          modelPath: resolve(path),
          modelName: name,
          family: spec.family,
          contentHash: hash,
          capture: run.capture ?? [],
          edits: run.edits ?? [],
          versions,
          device,
          dtype: 'f32',
        }),
      })
    },
    reading: () => Promise.reject(reason('it has no encoder of ours')),
    async generate(ids, generation: GenerateOptions = {}) {
      if (generation.decoderIds) throw reason('it takes one text of token ids')
      const warnings = checkPrompts([ids], spec)
      const edits = (total: number) =>
        resolveOnnxEdits(editing, generation.edits ?? [], [ids], total, generation)
      const work = { file: file.name, feeder, sessions, names, logits, outputs: all, warnings, edits }
      return generateOnnx(work, ids, generation)
    },
    async gradients() {
      throw reason('it has no blocks to differentiate')
    },
    weight() {
      throw reason('its weights have no names of ours')
    },
    engine() {
      throw reason('it has no blocks to restart or differentiate')
    },
    close: () => sessions.close(),
  }
}

// --- Internal helpers ---

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
