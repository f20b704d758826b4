/**
 * Sessions over an ONNX file made by others. In: the file, the tensors wanted, edits. Out: float32 values by tensor
 * name. Each session holds the weights, so the last two stay and no more. Nothing is kept between runs.
 */
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { HALVES } from '../checkpoint/half.ts'
import { HeadscopeError, sentence } from '../errors.ts'
import { type OnnxFile, withOutputs } from '../onnx/file.ts'
import type { OnnxFeed } from '../onnx/inputs.ts'
import { type TensorSlot, withEdits } from '../onnx/splice.ts'
import type { Device } from './devices.ts'

/** A fetched tensor as float32, and what type the file has it in. */
export interface OnnxTensor {
  readonly data: Float32Array
  readonly shape: readonly number[]
  readonly type: string
  /** The values as the runtime gave them, to be fed again. */
  readonly raw: OnnxFeed['data']
}

export interface OnnxSessions {
  /**
   * Runs the graph that hands out `outputs` and has the edits' slots in it, and fetches some of its outputs. Throws
   * `unsupported` in a sentence where the runtime refuses the graph or the tokens.
   */
  run(request: OnnxRequest): Promise<ReadonlyMap<string, OnnxTensor>>
  close(): Promise<void>
}

export interface OnnxRequest {
  readonly feeds: ReadonlyMap<string, OnnxFeed>
  /** Tensors that the session hands out: one session serves every run with these and the same slots. */
  readonly outputs: readonly string[]
  /** Those of the outputs that this run needs; default: all. */
  readonly fetch?: readonly string[]
  readonly slots?: readonly TensorSlot[]
}

/** No session is made before the first run. */
export function createOnnxSessions(file: OnnxFile, device: Device, threads: number): OnnxSessions {
  const open = new Map<string, InferenceSession>()

  async function sessionOf(
    outputs: readonly string[],
    slots: readonly TensorSlot[],
  ): Promise<InferenceSession> {
    const key = [...outputs, '', ...slots.map(({ kind, tensor }) => `${kind} ${tensor}`)].join('\n')
    const known = open.get(key)
    if (known) {
      open.delete(key) // the newest is last
      open.set(key, known)
      return known
    }
    const bytes = withOutputs(withEdits(file, slots), outputs)
    const session = await createSession(file, bytes, device, threads)
    open.set(key, session)
    for (const [oldest, old] of open) {
      if (open.size <= 2) break
      open.delete(oldest)
      await old.release()
    }
    return session
  }

  return {
    async run({ feeds, outputs, fetch = outputs, slots = [] }) {
      const session = await sessionOf([...new Set(outputs)], slots)
      const given = Object.fromEntries([...feeds].map(([name, feed]) => [name, ortTensor(feed)]))
      let fetched: Awaited<ReturnType<InferenceSession['run']>>
      try {
        fetched = await session.run(given, [...new Set(fetch)])
      } catch (error) {
        throw new HeadscopeError(
          'unsupported',
          `ONNX Runtime could not run this graph on these tokens; use fewer, where its positions end (${sentence(error).split('\n')[0]!.replace(/\.$/, '')}).`,
          { cause: error },
        )
      }
      return new Map(
        Object.entries(fetched).map(([name, value]) => [
          name,
          { data: floats(value), shape: value.dims, type: value.type, raw: value.data as OnnxFeed['data'] },
        ]),
      )
    },
    async close() {
      for (const session of open.values()) await session.release()
      open.clear()
    },
  }
}

// --- Internal helpers ---

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

function ortTensor({ type, data, shape }: OnnxFeed): OrtTensor {
  return new OrtTensor(type as 'float32', data as Float32Array, shape as number[])
}

function floats(tensor: OrtTensor): Float32Array {
  const { data } = tensor
  if (data instanceof Float32Array) return data
  if (tensor.type === 'float16' && data instanceof Uint16Array)
    return Float32Array.from(data, (bits) => HALVES[bits]!)
  return Float32Array.from(data as unknown as ArrayLike<number>, Number)
}
