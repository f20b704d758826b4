/**
 * Calls across a worker thread. In: a table of plain functions. Out: the same functions, as promises, on the other
 * side. A call carries a shared flag, so that cancelling takes effect even while the worker has not returned to its
 * event loop, and reports progress on the way. Costs one structured copy of input and result.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Progress } from '../../checkpoint/types.ts'
import { type ErrorCode, HeadscopeError, isCancelled, sentence } from '../../errors.ts'

/** What a method knows of its call. */
export interface Call {
  /** Aborted as soon as the caller cancels; `aborted` reads the shared flag, so it is never late. */
  readonly signal: AbortSignal
  readonly progress: (progress: Progress) => void
  /** Anything else that is told while the call runs. */
  readonly tell: (news: unknown) => void
}

/** A table of methods: one plain input, a call, one plain result. */
// biome-ignore lint/suspicious/noExplicitAny: a table of functions of unlike inputs has no narrower type
export type MethodTable = Record<string, (input: any, call: Call) => unknown>

export type InputOf<F> = F extends (input: infer I, call: Call) => unknown ? I : never
export type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never

export type ToWorker =
  | { type: 'call'; id: number; method: string; input: unknown; flag: SharedArrayBuffer }
  | { type: 'cancel'; id: number }
  | { type: 'leave' }

export type FromWorker =
  | { type: 'result'; id: number; value: unknown }
  | { type: 'error'; id: number; error: { code: ErrorCode; message: string } }
  | { type: 'progress'; id: number; progress: Progress }
  | { type: 'news'; id: number; news: unknown }

/** Serves `methods` on a port. An error in a method is answered, and never leaves this function. */
export function serveMethods(
  port: Pick<MessagePort, 'on' | 'postMessage' | 'close'>,
  methods: MethodTable,
): void {
  const controllers = new Map<number, AbortController>()
  const post = (message: FromWorker) => port.postMessage(message)

  port.on('message', (message: ToWorker) => {
    if (message.type === 'call') void answer(message)
    else if (message.type === 'cancel') controllers.get(message.id)?.abort()
    else port.close() // nothing holds the thread any more, so it ends by itself
  })

  async function answer({ id, method, input, flag }: Extract<ToWorker, { type: 'call' }>): Promise<void> {
    const controller = new AbortController()
    controllers.set(id, controller)
    try {
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined
      if (!run) throw new HeadscopeError('internal', `The compute worker has no method ${method}.`)
      const signal = flagged(controller, new Int32Array(flag))
      const progress = (value: Progress) => post({ type: 'progress', id, progress: value })
      const tell = (news: unknown) => post({ type: 'news', id, news })
      const value = await run(input, { signal, progress, tell })
      post({ type: 'result', id, value })
    } catch (error) {
      post({ type: 'error', id, error: describe(error) })
    } finally {
      controllers.delete(id)
    }
  }
}

/** The controller's signal, whose `aborted` also reads the flag: between two blocks no message may have come in yet. */
function flagged(controller: AbortController, flag: Int32Array): AbortSignal {
  const { signal } = controller
  const native = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')!.get!
  const aborted = () => {
    if (Atomics.load(flag, 0) === 1) controller.abort()
    return native.call(signal) as boolean
  }
  Object.defineProperty(signal, 'aborted', { get: aborted })
  Object.defineProperty(signal, 'throwIfAborted', {
    value: () => {
      if (aborted()) throw signal.reason
    },
  })
  return signal
}

function describe(error: unknown): { code: ErrorCode; message: string } {
  if (isCancelled(error)) return { code: 'cancelled', message: 'This was cancelled.' }
  if (error instanceof HeadscopeError) return { code: error.code, message: error.message }
  console.error(error) // the stack stays on this side: a defect of ours
  return { code: 'internal', message: `Headscope met a defect of its own: ${sentence(error)}` }
}
