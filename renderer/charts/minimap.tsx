/** The whole of a zoomed pattern, small, with the window on it: drag or click to move, the button shows all again. */
import { type PointerEvent, useCallback } from 'react'
import type { View } from './labels.ts'

interface Props {
  /** A canvas of its own, with the whole picture. */
  readonly canvas: HTMLCanvasElement
  readonly count: number
  readonly view: View
  readonly top: number
  readonly right: number
  readonly size: number
  readonly onMove: (x: number, y: number) => void
  readonly onFit: () => void
}

export function Minimap({ canvas, count, view, top, right, size, onMove, onFit }: Props) {
  const seen = count / view.zoom
  const mount = useCallback((host: HTMLDivElement | null) => host?.replaceChildren(canvas), [canvas])
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
        <div ref={mount} />
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
