/**
 * Keeps what is shown, to see the next head, prompt or checkpoint beside it. In: the selection. Out: hold and let go;
 * where another run is held, whether its head follows the selected one.
 */
import { hold } from '../../state/hold.ts'
import { headName, heldHead } from '../../state/selection.ts'
import { getSelection, select, useSelection } from '../../state/store.ts'

export function HoldButtons({ compact, run }: { compact: boolean; run: number | null }) {
  const held = useSelection((s) => s.held)
  const head = useSelection((s) => s.head)
  const edited = useSelection((s) => s.edits.some((edit) => edit.on))
  if (compact && !held) return null
  const shown = heldHead({ held, head })
  const title = !held
    ? 'Keeps this head and prompt; the next head, prompt or checkpoint is shown beside it (H)'
    : `${edited ? 'Edits act: they are compared here. Without them what is held is. ' : ''}H lets go`
  const follows = held !== null && held.head === null
  return (
    <>
      {held && held.run !== run && (
        <button
          type="button"
          className={follows ? 'button small toggle is-on' : 'button small toggle'}
          aria-pressed={follows}
          title="The held run shows the head that is selected: both change together"
          onClick={() => select({ held: { run: held.run, head: follows ? getSelection().head : null } })}
        >
          Same head
        </button>
      )}
      <button
        type="button"
        className={held ? 'button small toggle is-on' : 'button small toggle'}
        aria-pressed={held !== null}
        title={title}
        onClick={hold}
      >
        {held ? `Let go of ${shown ? headName(shown) : `run ${held.run}`}` : 'Hold'}
      </button>
    </>
  )
}
