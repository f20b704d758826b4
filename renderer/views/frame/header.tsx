/** Name, where we are, theme, help. */
import { Popover } from '@base-ui/react/popover'
import { useSyncExternalStore } from 'react'
import { useLibrary, useModel, useRun } from '../../api/queries.ts'
import { helpOpen } from '../../state/desktop.ts'
import { headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { toggleTheme, useTheme } from '../../state/theme.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['← → ↑ ↓', 'walk over the heads (grid in focus); move the locked cell (pattern in focus)'],
  ['A', 'ablate the head, or undo it'],
  ['Enter', 'open the head’s pattern'],
  ['click', 'lock a cell or a token; again: unlock'],
  ['Shift click', 'on a token: lock it as the key'],
  ['wheel, drag', 'zoom and move the pattern; 0 fits it'],
  ['Esc', 'unlock'],
  ['Ctrl K', 'find a head, or filter them'],
  ['Ctrl ↵', 'run the prompt that is being typed'],
]

export function Header() {
  const model = useModel()
  const run = useRun()
  const theme = useTheme()
  const head = useSelection((s) => s.head)
  const help = useSyncExternalStore(helpOpen.subscribe, helpOpen.get)
  const path = model.data?.path
  const step = model.data?.series.find((s) => s.path === path)?.at
  const parent = useLibrary().data?.models.find((m) => m.series.some((s) => s.path === path))
  const text = run.data?.text ?? (run.data ? `${run.data.tokens} ids` : null)
  return (
    <header className="header">
      <title>{[head && headName(head), model.data?.name, 'Headscope'].filter(Boolean).join(' · ')}</title>
      <span className="brand">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <title>Headscope</title>
          <path d="M1 1h4v4H1zM5 5h4v4H5zM9 9h4v4H9zM1 9h4v4H1z" />
        </svg>
        Headscope
      </span>
      {model.data && (
        <span className="where">
          <b>{step ? (parent?.name ?? model.data.name) : model.data.name}</b>
          {step && <span className="where-step">{step.replace('step', 'step ')}</span>}
          {text !== null && <span className="where-prompt clip">“{text}”</span>}
        </span>
      )}
      <span className="spacer" />
      <button
        type="button"
        className="icon-button"
        aria-label={theme === 'dark' ? 'Switch to light' : 'Switch to dark'}
        title={theme === 'dark' ? 'Light' : 'Dark'}
        onClick={() => toggleTheme(theme)}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <title>Theme</title>
          <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" strokeWidth="1.4" />
          <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />
        </svg>
      </button>
      <Popover.Root open={help} onOpenChange={(open) => helpOpen.set(open)}>
        <Popover.Trigger className="icon-button" aria-label="Help" title="Keys and definitions">
          ?
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner sideOffset={6} align="end">
            <Popover.Popup className="help">
              <Popover.Title className="dialog-title">Keys</Popover.Title>
              <dl>
                {KEYS.map(([keys, does]) => (
                  <div key={keys}>
                    <dt>
                      <kbd>{keys}</kbd>
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
              </dl>
              <p className="muted">
                Rows are queries, columns are keys. L1H3 is layer 1, head 3, counted from 0. Every score shows
                its definition, n and seed on hover. The address holds the whole state: copy it to come back.
              </p>
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
    </header>
  )
}
