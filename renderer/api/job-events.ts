/**
 * The events of one job. In: its id. Out: every event, the last one being done, failed, cancelled or lost. Server-sent
 * events where the page's scheme has them; where they close before a word was said, the job is asked for instead.
 */
import type { JobEvent } from '../../core/api/contract.ts'
import { api } from './client.ts'

export type HeardEvent<R, C = unknown> = JobEvent<R, C> | { readonly type: 'lost' }

/** How long a lost connection may take to come back: the browser tries again by itself, every few seconds. */
const PATIENCE_MS = 8000
const ASK_MS = 300
/** After these nothing more comes. */
const ENDS: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled'])

export function listenToJob<R, C = unknown>(id: number, hear: (event: HeardEvent<R, C>) => void): void {
  const events = api.jobEvents(id)
  let heard = false
  let patience: ReturnType<typeof setTimeout> | undefined
  const lost = () => {
    events.close()
    hear({ type: 'lost' })
  }
  events.onmessage = (message: MessageEvent<string>) => {
    heard = true
    clearTimeout(patience)
    patience = undefined
    const event = JSON.parse(message.data) as JobEvent<R, C>
    if (ENDS.has(event.type)) events.close()
    hear(event)
  }
  events.onerror = () => {
    if (events.readyState !== EventSource.CLOSED) patience ??= setTimeout(lost, PATIENCE_MS)
    else if (heard) lost()
    else void ask(id, hear)
  }
}

async function ask<R, C>(id: number, hear: (event: HeardEvent<R, C>) => void): Promise<void> {
  try {
    for (;;) {
      const event = (await api.jobs()).find(({ job }) => job === id)?.event as JobEvent<R, C> | undefined
      if (!event) break
      hear(event)
      if (ENDS.has(event.type)) return
      await new Promise((resolve) => setTimeout(resolve, ASK_MS))
    }
  } catch {
    // the engine does not answer: lost
  }
  hear({ type: 'lost' })
}
