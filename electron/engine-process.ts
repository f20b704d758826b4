/**
 * The desktop's hold on the engine: a Node child process. In: how to start it. Out: its address, and news of its state.
 * It is started again when it dies. Three deaths within a minute are given up, and so is a workspace that cannot be
 * opened, each with its reason.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { EngineState } from '../core/api/desktop.ts'
import type { EngineMessage } from './engine.ts'

export interface EngineAddress {
  readonly port: number
  readonly token: string
}

export interface EngineProcess {
  /** The address, as soon as the engine answers; waits through a restart. Rejects when it will not start. */
  address(): Promise<EngineAddress>
  state(): EngineState
  /** Process id, or null between two lives. */
  pid(): number | null
  /** Ends the engine and waits for it. */
  stop(): Promise<void>
}

export interface EngineProcessOptions {
  readonly node: string
  readonly entry: string
  /** Serve options; they hold no secret, because arguments can be read by others. */
  readonly options: unknown
  readonly onState: (state: EngineState) => void
}

const GIVE_UP = { deaths: 3, within: 60_000 }

/** How long the engine may take to end by itself, in ms: longer than its own patience. */
const FAREWELL = 7000

/** Starts the engine and keeps it alive until `stop()`. */
export function createEngineProcess({ node, entry, options, onState }: EngineProcessOptions): EngineProcess {
  const deaths: number[] = []
  let child: ChildProcess | null = null
  let stopping = false
  let current: EngineState = { state: 'restarting', message: 'The engine is starting.' }
  let waiting = deferred<EngineAddress>()

  const tell = (state: EngineState) => onState((current = state))

  function start(): void {
    const started = spawn(node, [entry, JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    child = started
    let reason: string | null = null
    let hopeless = false
    let lastWords = ''
    // Echoed, and the last line kept: it is the reason when the process dies without a message.
    createInterface({ input: started.stderr! }).on('line', (line) => {
      if (line.trim() !== '') lastWords = line.trim()
      process.stderr.write(`${line}\n`)
    })
    started.on('message', (message: EngineMessage) => {
      if (message.type === 'failed') {
        // What is wrong with a file does not go away by starting again; a port or a defect may.
        hopeless = message.code !== 'internal' && message.code !== 'in-use'
        reason = message.message
        return
      }
      waiting.resolve({ port: message.port, token: message.token })
      tell({ state: 'ready', message: null })
    })
    started.once('error', (error) => {
      reason = `The engine did not start: ${error.message}.`
      ended()
    })
    started.once('exit', (code, signal) => {
      reason ??= `The engine ended (${signal ?? `exit ${code}`})${lastWords ? `: ${lastWords}` : ''}.`
      ended()
    })

    function ended(): void {
      if (child !== started) return
      child = null
      if (stopping) return
      deaths.push(Date.now())
      const recent = deaths.filter((time) => time > Date.now() - GIVE_UP.within)
      waiting.reject(new Error(reason!))
      waiting = deferred()
      if (hopeless || recent.length >= GIVE_UP.deaths) {
        waiting.reject(new Error(reason!))
        tell({ state: 'failed', message: reason! })
        return
      }
      tell({ state: 'restarting', message: `${reason!} It is starting again.` })
      start()
    }
  }

  start()
  return {
    address: () => waiting.promise,
    state: () => current,
    pid: () => child?.pid ?? null,
    async stop() {
      stopping = true
      const leaving = child
      if (!leaving || leaving.exitCode !== null) return
      const gone = new Promise<void>((resolve) => leaving.once('exit', () => resolve()))
      // Losing its parent is what the engine ends on, on every system; a signal would kill it at once on Windows.
      if (leaving.connected) leaving.disconnect()
      const timer = setTimeout(() => leaving.kill('SIGKILL'), FAREWELL)
      await gone
      clearTimeout(timer)
    },
  }
}

function deferred<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  promise.catch(() => {}) // who waits for it hears of it
  return { promise, resolve, reject }
}
