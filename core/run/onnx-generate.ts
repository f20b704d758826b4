/**
 * Token by token over an ONNX file made by others: on the file's own past keys and values where it takes and hands them
 * out, else each step runs the whole text again. Costs one row a token, or the whole text a token.
 */
import { HeadscopeError } from '../errors.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Feeder, OnnxFeed } from '../onnx/inputs.ts'
import { slice, type Window } from './dense.ts'
import { type Decoder, drawTokens, type Generated, type GenerateOptions, stepsOf } from './generate.ts'
import { captureOf } from './onnx-batch.ts'
import type { OnnxEdits } from './onnx-edits.ts'
import type { OnnxNames } from './onnx-hooks.ts'
import type { OnnxSessions } from './onnx-session.ts'
import { throwIfCancelled } from './pass.ts'

export interface OnnxContinuing {
  readonly file: string
  readonly feeder: Feeder
  readonly sessions: OnnxSessions
  readonly names: OnnxNames
  readonly logits: string
  /** Tensors that every session of this file hands out. */
  readonly outputs: readonly string[]
  readonly warnings: readonly string[]
  /** Edits in positions of a run of `total` tokens. */
  readonly edits: (total: number) => Promise<OnnxEdits>
}

/** Continues one prompt that was checked. Throws `bad-request`, `bad-edit`, `unsupported`, `cancelled`. */
export async function generateOnnx(
  work: OnnxContinuing,
  prompt: readonly number[],
  options: GenerateOptions,
): Promise<Generated> {
  if (work.feeder.length !== null)
    throw new HeadscopeError(
      'unsupported',
      `${work.file} takes exactly ${work.feeder.length} tokens, so no text can grow in it; export it with dynamic axes.`,
    )
  const steps = stepsOf(options, null)
  const wanted = work.names.wanted(options.capture ?? [])
  for (const name of wanted.keys())
    if (!work.names.hooks.some((hook) => hook.name === name) && name !== 'logits')
      throw new HeadscopeError(
        'bad-request',
        `${name} is no hook that was recognised, so its rows cannot be told apart while a text grows; capture it in a run.`,
      )
  const warnings = [...work.warnings]
  const edits = await work.edits(prompt.length + steps)
  const read = new Map([...wanted.keys()].map((name) => [name, edits.readAt(name)]))
  const decoder = createDecoder(work, read, edits, options, warnings)
  const made = await drawTokens(decoder, prompt, steps, options)
  return { promptIds: prompt, ...made, warnings }
}

// --- Internal helpers ---

function createDecoder(
  work: OnnxContinuing,
  wanted: ReadonlyMap<string, string>,
  edits: OnnxEdits,
  options: GenerateOptions,
  warnings: string[],
): Decoder {
  const { past, feeds } = work.feeder
  const outputs = [...work.outputs, ...wanted.values(), ...past.map(({ output }) => output)]
  const fetch = [work.logits, ...wanted.values(), ...past.map(({ output }) => output)]
  let seen: number[] = []
  let kept: ReadonlyMap<string, OnnxFeed> | null = null
  let bytes = 0

  async function compute(rows: readonly number[], window: Window) {
    const given = feeds(rows, kept ? { rows: window.start, tensors: kept } : undefined)
    for (const [name, feed] of edits.feeds(0, window)) given.set(name, feed)
    return work.sessions.run({ feeds: given, outputs, fetch, slots: edits.slots })
  }

  return {
    async next(fed, step) {
      throwIfCancelled(options.signal)
      const start = kept ? seen.length : 0
      const before = seen.length
      seen = [...seen, ...fed]
      let results: Awaited<ReturnType<typeof compute>>
      try {
        results = await compute(seen.slice(start), { start, rows: seen.length - start, keys: seen.length })
      } catch (error) {
        // The prompt ran, so it is the length that the graph refuses.
        if (step === 0 || !(error instanceof HeadscopeError)) throw error
        warnings.push(`${work.file} takes no more than ${before} tokens. ${error.message}`)
        return null
      }
      for (const [name, tensor] of wanted) {
        const made = captureOf(name, results.get(tensor)!, work.names.hooks)
        await options.onCapture?.(name, rowsOf(made, before - start), step)
      }
      // The runtime's bindings read no halves that they are handed back: then every step runs the whole text.
      if (past.length > 0 && past.every(({ output }) => results.get(output)!.type === 'float32')) {
        kept = new Map(
          past.map(({ input, output }) => {
            const { raw, shape, type } = results.get(output)!
            return [input, { type: type as OnnxFeed['type'], data: raw, shape }]
          }),
        )
        bytes = [...kept.values()].reduce((sum, { data }) => sum + data.byteLength, 0)
      }
      const { data, shape } = results.get(work.logits)!
      return data.slice(data.length - shape.at(-1)!)
    },
    cacheBytes: () => bytes,
  }
}

/** The rows of a capture that this step fed: without a cache, those before were computed again. */
function rowsOf(tensor: Tensor, first: number): Tensor {
  const axis = tensor.axes.findIndex((name) => name === 'pos' || name === 'query')
  if (first === 0 || axis < 0) return tensor
  return { ...slice(tensor, axis, first, tensor.shape[axis]!), axes: tensor.axes }
}
