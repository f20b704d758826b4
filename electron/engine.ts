/**
 * The engine's process: a thin entry over core/api/serve.ts. In: serve options as JSON in the first argument. Out: one
 * message to the parent, over IPC where there is one, else as a line on stdout: {type: 'ready', url, port, token} or
 * {type: 'failed', code, message} (then exit 1). It ends when its parent does, and on SIGINT or SIGTERM.
 */
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import type { ServeOptions, Serving } from '../core/api/serve.ts'
import { type ErrorCode, HeadscopeError, sentence } from '../core/errors.ts'

export type EngineMessage =
  | { readonly type: 'ready'; readonly url: string; readonly port: number; readonly token: string }
  | { readonly type: 'failed'; readonly code: ErrorCode; readonly message: string }

/** How long work in flight may take to stop, in milliseconds; the store survives a kill. */
const PATIENCE = 5000

/** Starts the engine, tells the parent, and ends this process when the parent ends. */
async function startEngine(options: ServeOptions): Promise<Serving> {
  keepCompiled()
  const { serve } = await import('../core/api/serve.ts')
  const serving = await serve(options)
  const end = endOnSignals(serving)
  if (process.channel) process.once('disconnect', end)
  else process.stdin.once('end', end).once('close', end).resume()
  tell({ type: 'ready', url: serving.url, port: serving.port, token: serving.token })
  return serving
}

/** Closes the engine and ends this process on SIGINT and SIGTERM. Returns the same for other reasons to end. */
export function endOnSignals(serving: Serving): () => void {
  let ending = false
  const end = () => {
    if (ending) return
    ending = true
    // Ending a thread inside a native call aborts; a kill is quiet.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), PATIENCE).unref()
    serving.close().finally(() => process.exit(0))
  }
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  return end
}

/** What is made of the TypeScript is kept, for the engine's threads too: it answers in 0.6 s instead of 0.9. */
function keepCompiled(): void {
  module.enableCompileCache()
  const folder = module.getCompileCacheDir()
  if (folder) process.env.NODE_COMPILE_CACHE = folder
}

function tell(message: EngineMessage): void {
  if (process.send) process.send(message)
  else process.stdout.write(`${JSON.stringify(message)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await startEngine(JSON.parse(process.argv[2] ?? '{}') as ServeOptions)
  } catch (error) {
    tell({
      type: 'failed',
      code: error instanceof HeadscopeError ? error.code : 'internal',
      message: sentence(error),
    })
    process.exitCode = 1
    process.disconnect?.()
  }
}
