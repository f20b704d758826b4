/** The whole of a zoomed pattern, small, with the window on it: drag or click to move, the button shows all again. */
import type { PointerEvent } from 'react'
import type { View } from './labels.ts'
import { type Drawing, PatternCanvas } from './pattern-canvas.tsx'

interface Props {
  /** The whole picture. */
  readonly drawing: Drawing
  readonly count: number
  readonly view: View
  readonly top: number
  readonly right: number
  readonly size: number
  readonly onMove: (x: number, y: number) => void
  readonly onFit: () => void
}

export function Minimap({ drawing, count, view, top, right, size, onMove, onFit }: Props) {
  const seen = count / view.zoom
  const move = (event: PointerEvent) => {
    if (event.buttons !== 1) return
    const box = event.currentTarget.getBoundingClientRect()
    const at = (offset: number) => (offset / size) * count - seen / 2
    onMove(at(event.clientX - box.left), at(event.clientY - box.top))
  }
  const scale = size / count
  return (
    <div className="minimap" style={{ top, right }}>
      <div
        className="minimap-map"
        style={{ width: size, height: size }}
        aria-hidden="true"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          move(event)
        }}
        onPointerMove={move}
      >
        <div>
          <PatternCanvas {...drawing} />
        </div>
        <i
          style={{
            left: view.x * scale,
            top: view.y * scale,
            width: Math.max(4, seen * scale),
            height: Math.max(4, seen * scale),
          }}
        />
      </div>
      <button type="button" className="button small" onClick={onFit}>
        Fit · {view.zoom.toFixed(1)}×
      </button>
    </div>
  )
}
