/** Moves through the checkpoints of a series, by hand or by itself. */
import { useRef, useState } from 'react'
import type { Step } from './curves.ts'

interface Props {
  readonly steps: readonly Step[]
  readonly at: number
  readonly onMove: (index: number) => Promise<unknown>
}

const PAUSE_MS = 450

export function StepSlider({ steps, at, onMove }: Props) {
  /** Where the hand is: ahead of `at` while a checkpoint is opened, so that no step of a key is lost. */
  const [aim, setAim] = useState<number | null>(null)
  const wanted = useRef<number | null>(null)
  const go = async (index: number) => {
    const idle = wanted.current === null
    wanted.current = index
    setAim(index)
    if (!idle) return // the one that is on its way goes on to this one
    for (let next: number | null = index; next !== null; ) {
      await onMove(next).catch(() => undefined) // shown where the slider stands
      const newer: number | null = wanted.current
      next = newer === next ? null : newer
    }
    wanted.current = null
    setAim(null)
  }
  const shown = aim ?? at
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
        value={shown}
        aria-label="Checkpoint"
        aria-valuetext={steps[shown]?.at ?? ''}
        onChange={(event) => {
          play?.abort()
          void go(Number(event.target.value))
        }}
      />
      <output className="mono">{steps[shown]?.at}</output>
    </span>
  )
}
