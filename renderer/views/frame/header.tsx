/** Name, where we are, commands, theme, keys. */
import { useLibrary, useModel, useRun } from '../../api/queries.ts'
import { helpOpen, paletteOpen } from '../../state/desktop.ts'
import { examplesOpen } from '../../state/examples.ts'
import { modelName } from '../../state/model-name.ts'
import { headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { toggleTheme, useTheme } from '../../state/theme.ts'

export function Header() {
  const model = useModel()
  const run = useRun()
  const theme = useTheme()
  const head = useSelection((s) => s.head)
  const library = useLibrary().data
  const place = model.data && modelName(library, model.data.path, model.data.name)
  const text = run.data?.text ?? (run.data ? `${run.data.tokens} ids` : null)
  return (
    <header className="header">
      <title>{[head && headName(head), model.data?.name, 'Headscope'].filter(Boolean).join(' · ')}</title>
      <h1 className="brand">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <title>Headscope</title>
          <path d="M1 1h4v4H1zM5 5h4v4H5zM9 9h4v4H9zM1 9h4v4H1z" />
        </svg>
        Headscope
      </h1>
      {place && (
        <span className="where">
          <b>{place.name}</b>
          {place.step && <span className="where-step">{place.step}</span>}
          {text !== null && <span className="where-prompt clip">“{text}”</span>}
        </span>
      )}
      <span className="spacer" />
      <button type="button" className="button small" onClick={() => examplesOpen.set(true)}>
        Examples
      </button>
      <button type="button" className="button small palette-button" onClick={() => paletteOpen.set(true)}>
        Commands <kbd>{/Mac/.test(navigator.platform) ? '⌘' : 'Ctrl'} K</kbd>
      </button>
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
      <button
        type="button"
        className="icon-button"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => helpOpen.set(true)}
      >
        ?
      </button>
    </header>
  )
}
