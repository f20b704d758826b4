/** The notebook in the library: how much is pinned, and the way there. */
import { useNotebook } from '../../api/notebook.ts'
import { select, useSelection } from '../../state/store.ts'

export function NotebookEntry() {
  const here = useSelection((s) => s.tab === 'notebook')
  const count = useNotebook().data?.length ?? 0
  return (
    <>
      <h2 className="library-title">Notebook</h2>
      <ul className="library-list">
        <li>
          <button
            type="button"
            className={here ? 'library-row is-selected' : 'library-row'}
            onClick={() => select({ tab: 'notebook' })}
          >
            <span className="clip">Pinned figures</span>
            <i className="count">{count}</i>
          </button>
        </li>
      </ul>
    </>
  )
}
