/**
 * The active edits, in one line above the status bar. A click on one switches it; its menu names it, moves it and takes
 * it away. Absent while nothing is edited.
 */
import { Popover } from '@base-ui/react/popover'
import { useState } from 'react'
import { useModel } from '../../api/queries.ts'
import {
  clearEdits,
  moveEdit,
  redoEdit,
  removeEdit,
  renameEdit,
  switchEdit,
  undoEdit,
} from '../../state/edit-history.ts'
import { type ActiveEdit, describeEdit, editLabel } from '../../state/edits.ts'
import { useSelection } from '../../state/store.ts'
import { AddEdit } from './add-edit.tsx'
import { SaveStack } from './save-stack.tsx'

export function EditStack() {
  const edits = useSelection((s) => s.edits)
  const model = useModel().data
  if (edits.length === 0) return null
  const acting = edits.filter(({ on }) => on).length
  return (
    <section className="edit-stack" aria-label="Active edits">
      <b>Edits</b>
      <ol>
        {edits.map((active, i) => (
          <Entry key={JSON.stringify(active.edit)} active={active} index={i} count={edits.length} />
        ))}
      </ol>
      {model && <AddEdit model={model} />}
      <span className="spacer" />
      <span className="muted small-text">
        {acting === edits.length ? '' : `${acting} of ${edits.length} act`}
      </span>
      {model && <SaveStack model={model} />}
      <button
        type="button"
        className="icon-button"
        title="Undo (Ctrl Z)"
        aria-label="Undo"
        onClick={() => undoEdit()}
      >
        ↶
      </button>
      <button
        type="button"
        className="icon-button"
        title="Redo (Ctrl Shift Z)"
        aria-label="Redo"
        onClick={() => redoEdit()}
      >
        ↷
      </button>
      <button type="button" className="button small" onClick={clearEdits}>
        Remove all
      </button>
    </section>
  )
}

function Entry({ active, index, count }: { active: ActiveEdit; index: number; count: number }) {
  const label = editLabel(active)
  const [name, setName] = useState(active.name ?? '')
  return (
    <li className={active.on ? 'edit-chip is-on' : 'edit-chip'}>
      <button
        type="button"
        className="edit-switch"
        aria-pressed={active.on}
        aria-label={`${index + 1} ${label}: ${active.on ? 'acts' : 'off'}`}
        title={`${describeEdit(active.edit)}\n${active.on ? 'Click: switch off' : 'Click: switch on'}`}
        onClick={() => switchEdit(index)}
      >
        <i className="index">{index + 1}</i> <span className="clip">{label}</span>
      </button>
      <Popover.Root onOpenChange={(open) => (open ? setName(active.name ?? '') : undefined)}>
        <Popover.Trigger className="icon-button" aria-label={`More about ${label}`}>
          ⋯
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner sideOffset={6} side="top">
            <Popover.Popup className="help edit-card">
              <Popover.Title className="dialog-title">{describeEdit(active.edit)}</Popover.Title>
              <form
                className="path-line"
                onSubmit={(event) => {
                  event.preventDefault()
                  renameEdit(index, name)
                }}
              >
                <input
                  className="input"
                  aria-label="Name of this edit"
                  placeholder="name"
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                />
                <button type="submit" className="button">
                  Name
                </button>
              </form>
              <pre className="edit-json">{JSON.stringify(active.edit)}</pre>
              <p className="dialog-foot">
                <button
                  type="button"
                  className="button small"
                  disabled={index === 0}
                  onClick={() => moveEdit(index, -1)}
                >
                  ← Earlier
                </button>
                <button
                  type="button"
                  className="button small"
                  disabled={index === count - 1}
                  onClick={() => moveEdit(index, 1)}
                >
                  Later →
                </button>
                <span className="spacer" />
                <button type="button" className="button small" onClick={() => removeEdit(active.edit)}>
                  Remove
                </button>
              </p>
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
      <button
        type="button"
        className="icon-button"
        aria-label={`Remove ${label}`}
        onClick={() => removeEdit(active.edit)}
      >
        ✕
      </button>
    </li>
  )
}
