/** The command palette: type a few letters of anything the app can do, Enter does it. */
import { Dialog } from '@base-ui/react/dialog'
import { type KeyboardEvent, useDeferredValue, useState, useSyncExternalStore } from 'react'
import { useLibrary, useModel, useRun, useScan } from '../../api/queries.ts'
import { type Action, findActions, viewActions } from '../../state/actions.ts'
import { paletteOpen } from '../../state/desktop.ts'
import { useSelection } from '../../state/store.ts'
import { viewsOf } from '../index.ts'
import { frameActions, headActions } from './frame-actions.ts'

const SHOWN = 80

export function Palette() {
  const open = useSyncExternalStore(paletteOpen.subscribe, paletteOpen.get)
  return (
    <Dialog.Root open={open} onOpenChange={(next) => paletteOpen.set(next)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog palette" aria-label="Command palette">
          <Commands onDone={() => paletteOpen.set(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Commands({ onDone }: { onDone(): void }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const selection = useSelection((s) => s)
  const library = useLibrary().data ?? null
  const model = useModel().data ?? null
  const run = useRun().data ?? null
  const scan = useScan().data ?? null
  const ofViews = useSyncExternalStore(viewActions.subscribe, viewActions.get)
  const asked = useDeferredValue(typed)
  const all = [
    ...ofViews.values(),
    frameActions({ views: viewsOf(model), selection, library, model, run, scan }),
  ].flat()
  const fitting = (words: string) =>
    [...headActions(model, words), ...findActions(all, words)].slice(0, SHOWN)
  const found = fitting(asked)
  const chosen = Math.min(at, found.length - 1)

  const go = (action: Action | undefined) => {
    if (!action) return
    onDone()
    action.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key]
    if (step) {
      const next = Math.max(0, Math.min(found.length - 1, chosen + step))
      setAt(next)
      document.getElementById(`palette-${next}`)?.scrollIntoView({ block: 'nearest' })
    }
    // The list may still be that of the letters before the last one.
    else if (event.key === 'Enter') go(typed === asked ? found[chosen] : fitting(typed)[0])
    else return
    event.preventDefault()
  }

  return (
    <>
      <input
        className="palette-input"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${chosen}` : undefined}
        placeholder="Type a command, a head (L1H3), a checkpoint, a prompt…"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: it was opened to be typed into
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette-list" id="palette-list" role="listbox" aria-label="Commands">
        {found.map((action, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the field does the same
          <div
            key={action.id}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === chosen}
            className={i === chosen ? 'palette-row is-selected' : 'palette-row'}
            onPointerMove={() => setAt(i)}
            onClick={() => go(action)}
          >
            <span className="palette-group">{action.group}</span>
            <span className="clip">{action.title}</span>
            <span className="spacer" />
            {action.note && <span className="muted small-text clip">{action.note}</span>}
            {action.keys && <kbd>{action.keys}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-none muted">Nothing is called that.</p>}
    </>
  )
}
