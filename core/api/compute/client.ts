/**
 * The server's side of the compute worker. In: the worker's file and its start data. Out: `call(method, input)` with
 * cancel and progress. The worker starts at the first call, and again after it has died; it is never terminated while
 * it runs, because ending a thread inside a native call ends the process.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Progress } from '../../checkpoint/types.ts'
import { HeadscopeError, sentence } from '../../errors.ts'
import type { FromWorker, InputOf, MethodTable, ResultOf, ToWorker } from './rpc.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** What a method tells beside its progress. */
  readonly onNews?: (news: unknown) => void
}

/** A worker that serves the methods of `M`. */
export interface ComputeClient<M extends MethodTable> {
  call<K extends keyof M & string>(
    method: K,
    input: InputOf<M[K]>,
    options?: CallOptions,
  ): Promise<ResultOf<M[K]>>
  /** Cancels what runs, waits until it has ended, then lets the worker leave by itself. */
  close(): Promise<void>
}

interface Pending {
  readonly flag: Int32Array
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly onNews: ((news: unknown) => void) | undefined
}

/** Makes the client. `closeMethod` is called last, so that the worker can release files before it leaves. */
export function createComputeClient<M extends MethodTable>(
  file: URL,
  workerData: unknown,
  closeMethod: keyof M & string,
): ComputeClient<M> {
  const pending = new Map<number, Pending>()
  let worker: Worker | null = null
  let last = 0
  let closed = false

  function start(): Worker {
    const started = new Worker(file, { workerData })
    let reason = 'the compute worker ended'
    started.on('message', (message: FromWorker) => receive(message))
    started.on('error', (error) => {
      reason = sentence(error)
    })
    started.on('exit', () => {
      if (worker === started) worker = null
      const waiting = [...pending.values()]
      pending.clear()
      for (const call of waiting) {
        call.reject(
          new HeadscopeError('internal', `The computation broke off: ${reason}; what was stored is kept.`),
        )
      }
    })
    return started
  }

  function receive(message: FromWorker): void {
    const call = pending.get(message.id)
    if (!call) return
    if (message.type === 'progress') {
      call.onProgress?.(message.progress)
      return
    }
    if (message.type === 'news') {
      call.onNews?.(message.news)
      return
    }
    pending.delete(message.id)
    if (message.type === 'result') call.resolve(message.value)
    else call.reject(new HeadscopeError(message.error.code, message.error.message))
  }

  async function call(method: string, input: unknown, options: CallOptions = {}): Promise<unknown> {
    if (options.signal?.aborted) throw new HeadscopeError('cancelled', 'This was cancelled.')
    worker ??= start()
    const target = worker
    const id = ++last
    const flag = new SharedArrayBuffer(4)
    const view = new Int32Array(flag)
    const cancel = () => {
      Atomics.store(view, 0, 1)
      target.postMessage({ type: 'cancel', id } satisfies ToWorker)
    }
    options.signal?.addEventListener('abort', cancel)
    try {
      return await new Promise((resolve, reject) => {
        const { onProgress, onNews } = options
        pending.set(id, { flag: view, resolve, reject, onProgress, onNews })
        target.postMessage({ type: 'call', id, method, input, flag } satisfies ToWorker)
      })
    } finally {
      options.signal?.removeEventListener('abort', cancel)
    }
  }

  return {
    call(method, input, options) {
      if (closed) return Promise.reject(new HeadscopeError('internal', 'The engine is shutting down.'))
      return call(method, input, options) as Promise<never>
    },
    async close() {
      if (closed) return
      closed = true
      const leaving = worker
      if (!leaving) return
      const exit = once(leaving, 'exit')
      for (const [id, { flag }] of pending) {
        Atomics.store(flag, 0, 1)
        leaving.postMessage({ type: 'cancel', id } satisfies ToWorker)
      }
      while (pending.size > 0 && worker === leaving) await new Promise((resolve) => setTimeout(resolve, 5))
      if (worker !== leaving) return
      await call(closeMethod, {}).catch(() => undefined)
      leaving.postMessage({ type: 'leave' } satisfies ToWorker)
      await exit
    },
  }
}
