/**
 * Saves what is typed a moment after the last key, and at once when the field or the page goes away. In: how to save. Out:
 * the way to tell of a change, and how the saving goes. A save that fails is said and tried again with the next change.
 */
import { useEffect, useRef, useState } from 'react'

const PAUSE_MS = 500

export type Saving = 'idle' | 'waiting' | 'saving' | 'saved' | { readonly problem: string }

export interface Autosave {
  readonly state: Saving
  readonly change: (text: string) => void
  /** Saves what waits, now. */
  readonly flush: () => void
}

export function useAutosave(save: (text: string) => Promise<void>): Autosave {
  const [state, setState] = useState<Saving>('idle')
  const latest = useRef(save)
  latest.current = save
  const [saver] = useState(() => createSaver((text) => latest.current(text), setState))
  // An effect, because the page may go away outside React.
  useEffect(() => {
    const { flush } = saver
    addEventListener('pagehide', flush)
    return () => {
      removeEventListener('pagehide', flush)
      flush()
    }
  }, [saver])
  return { state, ...saver }
}

/** The same outside React: one text at a time, the newest last, never two saves at once. */
export function createSaver(
  save: (text: string) => Promise<void>,
  tell: (state: Saving) => void,
  pause = PAUSE_MS,
): { change(text: string): void; flush(): void } {
  let waiting: string | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  let busy = false

  function flush(): void {
    if (timer) clearTimeout(timer)
    timer = null
    if (waiting === null || busy) return
    const text = waiting
    waiting = null
    busy = true
    tell('saving')
    save(text).then(
      () => end(waiting === null ? 'saved' : 'waiting'),
      (error: Error) => {
        waiting ??= text
        end({ problem: error.message }, false)
      },
    )
  }

  function end(state: Saving, more = true): void {
    busy = false
    tell(state)
    if (more && waiting !== null && timer === null) flush()
  }

  return {
    change(text) {
      waiting = text
      tell('waiting')
      if (timer) clearTimeout(timer)
      timer = setTimeout(flush, pause)
    },
    flush,
  }
}
