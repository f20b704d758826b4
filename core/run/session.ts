/**
 * ONNX Runtime sessions: one per (graph, hooks, edits), made on demand in about 2 ms, kept in an LRU. A session holds
 * no state between runs. `explore` maps weights from disk at once; `sweep` repacks them, which pays once a block has
 * run some 25 times. The two differ by about 5e-6: one comparison never mixes them.
 */
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node'
import { HeadscopeError, sentence } from '../errors.ts'
import type { Encoded } from '../graph/encode.ts'
import type { Device } from './devices.ts'

export type SessionMode = 'explore' | 'sweep'

export interface Feed {
  readonly data: Float32Array | BigInt64Array | Uint8Array // Uint8Array: bool
  readonly shape: readonly number[]
}

export interface FetchedTensor {
  readonly data: Float32Array | BigInt64Array
  readonly shape: readonly number[]
}

export interface SessionPool {
  /** Runs the graph of `key`, encoding and loading it when it is not there. Feeds that it does not need are left out. */
  run(key: string, make: () => Encoded, feeds: ReadonlyMap<string, Feed>): Promise<Map<string, FetchedTensor>>
  /** Number of sessions held. */
  readonly size: number
  close(): Promise<void>
}

export interface PoolOptions {
  readonly folder: string // of the weights
  readonly threads: number
  readonly mode: SessionMode
  /** Where it is computed; what the device cannot do, the CPU does. Default cpu. */
  readonly device?: Device
  /** Throws when a weights file changed under us: a mapped file that was cut short kills the process. */
  readonly check: () => void
  readonly capacity?: number
}

interface Entry extends Pick<Encoded, 'inputs' | 'shared'> {
  /** null where every output is an input as it was fed. */
  readonly session: InferenceSession | null
}

/** A float32 output. */
export function asFloats(tensor: FetchedTensor): { data: Float32Array; shape: readonly number[] } {
  if (tensor.data instanceof Float32Array) return { data: tensor.data, shape: tensor.shape }
  throw new HeadscopeError('internal', 'A float32 output was expected.')
}

/** A pool for one checkpoint. Throws `internal` when the runtime refuses a graph. */
export function createSessionPool(options: PoolOptions): SessionPool {
  const capacity = options.capacity ?? 512
  const entries = new Map<string, Entry>()
  const pool: SessionPool = {
    async run(key, make, feeds) {
      options.check()
      const entry = entries.get(key) ?? (await load(make(), options))
      entries.delete(key) // the newest is last
      entries.set(key, entry)
      if (entries.size > capacity) await evict(entries)
      const given: Record<string, OrtTensor> = {}
      for (const name of entry.inputs) {
        const feed = feeds.get(name)
        if (!feed) throw new HeadscopeError('internal', `The input ${name} of ${key} was not fed.`)
        given[name] = tensorOf(feed)
      }
      const outputs = entry.session ? await entry.session.run(given) : {}
      const fetched = new Map<string, FetchedTensor>(
        Object.entries(outputs).map(([name, value]) => [
          name,
          { data: value.data as Float32Array | BigInt64Array, shape: value.dims },
        ]),
      )
      for (const [name, source] of entry.shared)
        fetched.set(name, 'output' in source ? fetched.get(source.output)! : fedAs(feeds.get(source.input)!))
      return fetched
    },
    get size() {
      return entries.size
    },
    async close() {
      const all = [...entries.values()]
      entries.clear()
      for (const entry of all) await entry.session?.release()
    },
  }
  return pool
}

// --- Internal helpers ---

async function load(encoded: Encoded, options: PoolOptions): Promise<Entry> {
  const { inputs, shared } = encoded
  if (encoded.outputs.every((name) => shared.has(name))) return { session: null, inputs, shared }
  try {
    const session = await InferenceSession.create(encoded.bytes, {
      executionProviders: (options.device ?? 'cpu') === 'cpu' ? ['cpu'] : [options.device as string, 'cpu'],
      // Nothing is fused or folded, so that a hook or an edit changes no kernel: the graph is written fused already.
      graphOptimizationLevel: 'disabled',
      enableCpuMemArena: false,
      // One block reserved for all of a run's values stays in the heap's gaps afterwards: 200 MB at 2,048 tokens.
      enableMemPattern: false,
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      logSeverityLevel: 4,
      extra: {
        // Threads of a block that is done must not spin while the next block's threads work.
        session: {
          intra_op: { allow_spinning: '0' },
          model_external_initializers_file_folder_path: options.folder,
          ...(options.mode === 'explore' ? { disable_prepacking: '1' } : {}),
        },
      },
    })
    return { session, inputs, shared }
  } catch (error) {
    throw new HeadscopeError('internal', `ONNX Runtime refused a block of this model: ${sentence(error)}`, {
      cause: error,
    })
  }
}

async function evict(entries: Map<string, Entry>): Promise<void> {
  const [oldest, entry] = entries.entries().next().value!
  entries.delete(oldest)
  await entry.session?.release()
}

/** An input that is wanted as an output. */
function fedAs({ data, shape }: Feed): FetchedTensor {
  if (data instanceof Uint8Array) throw new HeadscopeError('internal', 'A mask is not an output.')
  return { data, shape }
}

function tensorOf(feed: Feed): OrtTensor {
  if (feed.data instanceof Float32Array) return new OrtTensor('float32', feed.data, feed.shape)
  if (feed.data instanceof BigInt64Array) return new OrtTensor('int64', feed.data, feed.shape)
  return new OrtTensor('bool', feed.data, feed.shape)
}
