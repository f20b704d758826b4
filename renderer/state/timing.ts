/** Marks for measurements: when a head was chosen and when its pattern was on the screen. Read by tests and benchmarks. */

declare global {
  interface Window {
    /** Times in ms, newest last; at most 500. For tests only. */
    __headscope?: { headSwitch: number[] }
  }
}

let started: number | null = null

/** A head was chosen. */
export function markHeadSwitch(): void {
  started = performance.now()
  performance.mark('head-switch-start')
}

/** A pattern was drawn; noted after the browser has painted it. */
export function markPatternDrawn(): void {
  requestAnimationFrame(() => {
    const channel = new MessageChannel()
    channel.port1.onmessage = () => {
      performance.mark('pattern-painted')
      if (started === null) return
      const times = (window.__headscope ??= { headSwitch: [] }).headSwitch
      times.push(performance.now() - started)
      if (times.length > 500) times.shift()
      started = null
    }
    channel.port2.postMessage(null)
  })
}
