/** All steps of the head in order, each a small picture with its formula and shape; one of them is open below. */
import { type KeyboardEvent, useEffect, useRef } from 'react'
import type { Theme } from '../../state/theme.ts'
import { MatrixCanvas } from './matrix-canvas.tsx'
import type { Stage } from './stages.ts'

interface Props {
  readonly stages: readonly Stage[]
  readonly open: number
  readonly theme: Theme
  /** Whether the changed head has run: steps say whether it reaches them. */
  readonly changed: boolean
  readonly onOpen: (index: number) => void
}

const BOX = { width: 57, height: 44 }

export function StepStrip({ stages, open, theme, changed, onOpen }: Props) {
  const strip = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const card = strip.current?.querySelectorAll('.bench-step')[open]
    card?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [open])
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    const next = Math.min(stages.length - 1, Math.max(0, open + step))
    onOpen(next)
    event.preventDefault()
    event.stopPropagation()
    event.currentTarget.querySelectorAll<HTMLElement>('.bench-step')[next]?.focus()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a legend and a frame; this is a row of pictures
    <div
      ref={strip}
      className="bench-strip"
      role="group"
      aria-label="Steps of the head"
      onKeyDown={onKeyDown}
    >
      {stages.map((stage, index) => (
        <button
          key={stage.name}
          type="button"
          className={index === open ? 'bench-step is-open' : 'bench-step'}
          aria-pressed={index === open}
          tabIndex={index === open ? 0 : -1}
          title={[`${stage.name}: ${stage.formula}`, stage.note].filter(Boolean).join('\n')}
          onClick={() => onOpen(index)}
        >
          <span className="bench-step-name">{stage.name}</span>
          <MatrixCanvas
            grid={stage.after ?? stage.before}
            scale={stage.scale}
            end={stage.end}
            theme={theme}
            {...BOX}
          />
          <span className="bench-shape">
            {stage.axes[0]} {stage.before.shape[0]} × {stage.axes[1]} {stage.before.shape[1]}
          </span>
          <span className="bench-formula">{stage.formula}</span>
          {changed && stage.after && <span className="bench-mark">changed</span>}
          {changed && !stage.after && <span className="bench-mark is-old">as before</span>}
        </button>
      ))}
    </div>
  )
}
