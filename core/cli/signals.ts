/** Ctrl-C and kill, heard politely once: work stops between two blocks. A second Ctrl-C ends the process at once. */

export interface Signals {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** Exit code of the signal that came: 130 for Ctrl-C. */
  readonly code: number
  stop(): void
}

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * A terminal sends Ctrl-C to the launcher and to us, and the launcher passes it on: two within this many ms are one.
 */
const ONE = 500

/** Begins to listen. */
export function listenForSignals(): Signals {
  const controller = new AbortController()
  let first = 0
  let code = 130
  const handlers = Object.entries(CODES).map(([name, number]) => {
    const hear = () => {
      if (first > 0 && performance.now() - first > ONE) process.exit(number)
      if (first > 0) return
      first = performance.now()
      code = number
      controller.abort()
    }
    process.on(name, hear)
    return () => void process.off(name, hear)
  })
  return {
    signal: controller.signal,
    get code() {
      return code
    },
    stop: () => {
      for (const remove of handlers) remove()
    },
  }
}
