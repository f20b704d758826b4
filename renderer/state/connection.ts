/**
 * Whether the engine of a page in a browser still answers: the desktop shell says it of itself, nobody else does. In:
 * requests that failed. Out: the state to show, until the engine answers again. Costs one small request a second while it
 * does not.
 */
import type { EngineState } from '../../core/api/desktop.ts'
import { onUnanswered, request } from '../api/client.ts'

const PAUSE_MS = 1000

/** Begins to listen. `hear` is told when the engine is gone, when it has become another one, and when it is back. */
export function watchEngine(hear: (state: EngineState) => void): void {
  let asking = false
  onUnanswered(async () => {
    if (asking) return
    asking = true
    let said = false
    for (let message = await problem(); message !== null; message = await problem()) {
      hear({ state: 'restarting', message })
      said = true
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    asking = false
    if (said) hear({ state: 'ready', message: null })
  })
}

// --- Internal helpers ---

/** Why the engine does not serve this page, and what to do; null where it does. */
async function problem(): Promise<string | null> {
  try {
    await request('/api/about')
    return null
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'offline')
      return `The engine does not answer. If it has ended, start it again on the same port (headscope serve --port ${location.port}) and open the URL that it prints: then this page goes on where it is.`
    // Each start has a token of its own; the browser learns the new one from that URL, for all pages of this address.
    if (code === 'token')
      return 'The engine was started again: open the URL that it printed, then this page goes on where it is.'
    return null
  }
}
