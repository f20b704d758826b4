/** One line on stderr that says how far the work is and how long it will take; gone when something else is printed. */
import type { Progress } from '../checkpoint/types.ts'

export interface ProgressLine {
  /** How far a piece of work is. */
  report(label: string): (progress: Progress) => void
  /** Takes the line away. */
  clear(): void
}

/** Work shorter than this shows no line on a terminal, in ms. */
const PATIENCE = 400
/** How often the line changes, in ms. */
const EVERY = 100
const EVERY_IN_A_LOG = 1000

/** `when`: always, never, or on a terminal. */
export function createProgressLine(when: string): ProgressLine {
  const { stderr } = process
  const on = when === 'always' || (when !== 'never' && stderr.isTTY)
  const begun = performance.now()
  let last = Number.NEGATIVE_INFINITY
  let shown = false
  return {
    report: (label) => (progress) => {
      const now = performance.now()
      if (!on || now - last < (stderr.isTTY ? EVERY : EVERY_IN_A_LOG)) return
      if (when !== 'always' && now - begun < PATIENCE) return
      last = now
      const text = describe(label, progress)
      stderr.write(stderr.isTTY ? `\r\x1b[K${text.slice(0, (stderr.columns ?? 80) - 1)}` : `${text}\n`)
      shown = true
    },
    clear() {
      if (shown && stderr.isTTY) stderr.write('\r\x1b[K')
      shown = false
    },
  }
}

/** `scan 12 % · 3 s left`. */
export function describe(label: string, { done, total, secondsLeft }: Progress): string {
  const share = total > 0 ? Math.min(100, Math.floor((100 * done) / total)) : 0
  return `${label} ${share} %${secondsLeft === null || !Number.isFinite(secondsLeft) ? '' : ` · ${duration(secondsLeft)} left`}`
}

function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`
}
