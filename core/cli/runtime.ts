/**
 * The engine, loaded when a command needs it. In: a chosen checkpoint and options. Out: an opened model. Costs the
 * load of ONNX Runtime (about 0.1 s), which `inspect`, `sql` and help never pay.
 */

import { HeadscopeError } from '../errors.ts'
import type { Model } from '../run/model.ts'
import type { Call } from './command.ts'
import { whyNoRuntime } from './host.ts'
import type { Chosen } from './models.ts'
import { bytes } from './table.ts'

/** Throws `unsupported` where the runtime has no build. */
export function requireRuntime(host: { readonly platform: string; readonly arch: string } = process): void {
  const why = whyNoRuntime(host)
  if (why !== null) throw new HeadscopeError('unsupported', why)
}

/** Checks and converts --threads. */
export function threadsOf(threads: number | undefined): { threads?: number } {
  if (threads === undefined) return {}
  if (threads < 1 || threads > 1024)
    throw new HeadscopeError(
      'bad-request',
      `--threads is ${threads}, but must be a whole number from 1 to 1024.`,
    )
  return { threads }
}

interface EngineValues {
  readonly threads: number | undefined
  readonly device: string | undefined
}

/** Opens a checkpoint for running; the caller closes it. */
export async function openChosen(
  chosen: Chosen,
  values: EngineValues,
  call: Pick<Call, 'signal' | 'progress'>,
): Promise<Model> {
  requireRuntime()
  const threads = threadsOf(values.threads)
  const { openModel } = await import('../run/model.ts')
  return openModel(chosen.path, {
    ...threads,
    ...(values.device === undefined ? {} : { device: values.device }),
    signal: call.signal,
    // The total of this work is the size of the float32 copy that is being written.
    onProgress: (progress) =>
      call.progress(`writing ${bytes(progress.total)} of float32 weights into the cache`)(progress),
  })
}
