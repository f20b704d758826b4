/** Moves through the checkpoints of a series, by hand or by itself. */
import { useState } from 'react'
import type { Step } from './curves.ts'

interface Props {
  readonly steps: readonly Step[]
  readonly at: number
  readonly busy: boolean
  readonly onMove: (index: number) => Promise<unknown>
}

const PAUSE_MS = 450

export function StepSlider({ steps, at, busy, onMove }: Props) {
  const [play, setPlay] = useState<AbortController | null>(null)
  const toggle = async () => {
    if (play) return play.abort()
    const stopping = new AbortController()
    setPlay(stopping)
    try {
      for (let i = at >= steps.length - 1 ? 0 : at + 1; i < steps.length && !stopping.signal.aborted; i++) {
        await onMove(i)
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
    } catch {
      // shown where the slider stands
    } finally {
      setPlay(null)
    }
    return undefined
  }
  return (
    <span className="step-slider">
      <button
        type="button"
        className="button small"
        aria-label={play ? 'Pause' : 'Play the training'}
        title={play ? 'Pause' : 'Play the training: the grid, the pattern and the prediction move together'}
        onClick={() => void toggle()}
      >
        {play ? '❚❚' : '▶'}
      </button>
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        value={at}
        aria-label="Checkpoint"
        aria-valuetext={steps[at]?.at ?? ''}
        disabled={busy && !play}
        onChange={(event) => {
          play?.abort()
          void onMove(Number(event.target.value)).catch(() => undefined) // shown where the slider stands
        }}
      />
      <output className="mono">{steps[at]?.at}</output>
    </span>
  )
}
