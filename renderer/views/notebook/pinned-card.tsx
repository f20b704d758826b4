/** One pinned figure: its picture, where it comes from, its note; moved by its handle or its buttons, opened where it was. */
import { type DragEvent, useState } from 'react'
import type { NotebookReply } from '../../../core/api/contract.ts'
import { usePinned } from '../../api/notebook.ts'
import { parseSelection } from '../../state/selection.ts'
import { select } from '../../state/store.ts'
import { saveFile } from '../../ui/save-file.ts'
import { when } from '../../ui/sizes.ts'
import { NoteField } from './note-field.tsx'

interface Props {
  readonly figure: NotebookReply[number]
  readonly first: boolean
  readonly last: boolean
  /** -1: up, 1: down. */
  readonly onMove: (by: -1 | 1) => void
  /** Another figure was dropped on this one. */
  readonly onDrop: (id: number) => void
  readonly onRemove: () => void
  readonly onNote: (text: string) => Promise<void>
}

/** Buttons of a card that change the list, as `data-action`. */
export type CardAction = 'up' | 'down' | 'remove'

const DRAGGED = 'application/x-headscope-figure'

export function PinnedCard({ figure, first, last, onMove, onDrop, onRemove, onNote }: Props) {
  const { id, title, provenance, state, command, script, created, note } = figure
  const whole = usePinned(id)
  const [over, setOver] = useState(false)
  const [said, setSaid] = useState('')
  const ours = (event: DragEvent) => event.dataTransfer.types.includes(DRAGGED)
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      (error: Error) => setSaid(error.message),
    )
  const { svg, csv } = whole.data ?? {}
  return (
    <li
      className={over ? 'pinned is-over' : 'pinned'}
      aria-label={title}
      data-figure={id}
      onDragOver={(event) => {
        if (!ours(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false)
        if (!ours(event)) return
        event.preventDefault()
        event.stopPropagation() // the window takes dropped folders
        onDrop(Number(event.dataTransfer.getData(DRAGGED)))
      }}
    >
      <header className="pinned-head">
        <span
          className="pinned-handle"
          draggable
          aria-hidden="true"
          title="Drag to reorder"
          onDragStart={(event) => {
            event.dataTransfer.setData(DRAGGED, String(id))
            event.dataTransfer.effectAllowed = 'move'
          }}
        >
          ⠿
        </span>
        <h3 className="clip" title={title}>
          {title}
        </h3>
        <span className="muted small-text">{when(created)}</span>
        <span className="spacer" />
        <button
          type="button"
          className="button small"
          aria-label={`Move ${title} up`}
          data-action="up"
          disabled={first}
          onClick={() => onMove(-1)}
        >
          ↑
        </button>
        <button
          type="button"
          className="button small"
          aria-label={`Move ${title} down`}
          data-action="down"
          disabled={last}
          onClick={() => onMove(1)}
        >
          ↓
        </button>
        <button
          type="button"
          className="button small"
          title="Goes back to the state in which this was pinned"
          onClick={() => {
            const { theme: _, ...then } = parseSelection(state)
            select(then)
          }}
        >
          Open
        </button>
        <button
          type="button"
          className="button small is-danger"
          aria-label={`Remove ${title}`}
          data-action="remove"
          onClick={onRemove}
        >
          Remove
        </button>
      </header>
      <div className="pinned-body">
        <div className="pinned-paper">
          {whole.isError ? (
            <p className="problem">{whole.error.message}</p>
          ) : svg === undefined ? (
            <span className="spinner" role="status" aria-label="Reading the figure" />
          ) : (
            <img alt={title} src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`} />
          )}
        </div>
        <div className="pinned-side">
          <NoteField
            label={`Note on ${title}`}
            placeholder="What does it show?"
            stored={note}
            save={onNote}
          />
          <details className="pinned-from">
            <summary>Where it comes from</summary>
            {provenance.map((line) => (
              <p key={line} className="muted small-text">
                {line}
              </p>
            ))}
          </details>
          <p className="button-row">
            <button
              type="button"
              className="button small"
              disabled={svg === undefined}
              onClick={() => saveFile(title, 'svg', svg!, 'image/svg+xml')}
            >
              SVG
            </button>
            <button
              type="button"
              className="button small"
              disabled={csv == null}
              title={
                csv === null ? 'More rows than the notebook keeps; the command gives them' : 'Its numbers'
              }
              onClick={() => saveFile(title, 'csv', csv!, 'text/csv')}
            >
              CSV
            </button>
            {command !== null && (
              <button type="button" className="button small" title={command} onClick={() => copy(command)}>
                Copy command
              </button>
            )}
            {script !== null && (
              <button type="button" className="button small" onClick={() => copy(script)}>
                Copy script
              </button>
            )}
            <span className="muted small-text" role="status">
              {said}
            </span>
          </p>
        </div>
      </div>
    </li>
  )
}
