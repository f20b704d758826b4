/** Every key that does something, in one window. */
import { Dialog } from '@base-ui/react/dialog'
import { useSyncExternalStore } from 'react'
import { helpOpen } from '../../state/desktop.ts'

type Keys = readonly (readonly [keys: string, does: string])[]

const GROUPS: readonly { readonly title: string; readonly keys: Keys }[] = [
  {
    title: 'Anywhere',
    keys: [
      ['Ctrl K', 'command palette: everything the app can do'],
      ['?', 'this map'],
      ['/', 'filter the heads'],
      ['1 … 9', 'open one of the first nine views; ▾ beside the tabs lists all'],
      ['Ctrl Z', 'undo a change of the edits'],
      ['Ctrl Shift Z', 'redo'],
      ['Alt ← →', 'back and forward through what was looked at'],
      ['[ ]', 'previous, next checkpoint of the series'],
      ['E', 'edit the prompt'],
      ['Tab', 'next part of the window; Shift Tab: back'],
    ],
  },
  {
    title: 'Heads',
    keys: [
      ['← → ↑ ↓', 'walk over the heads'],
      ['Enter', 'open the head’s pattern'],
      ['A', 'ablate the head, or undo it'],
      ['P', 'pin the head, or unpin it'],
      ['H', 'hold the head: the next head, prompt or checkpoint is shown beside it; again: let go'],
    ],
  },
  {
    title: 'Pattern',
    keys: [
      ['← → ↑ ↓', 'move the locked cell'],
      ['click', 'lock a cell or a token; again: unlock'],
      ['Shift click', 'on a token or a row: one more query, rows are averaged'],
      ['Alt click', 'on a token: lock it as the key'],
      ['X', 'knock out the locked edge, or undo it'],
      ['wheel, drag', 'zoom and move'],
      ['+ − 0', 'zoom in, out, fit'],
      ['Esc', 'unlock'],
    ],
  },
  {
    title: 'Writing',
    keys: [
      ['Ctrl ↵', 'run the prompt that is being typed'],
      ['Esc', 'close'],
    ],
  },
]

export function KeyMap() {
  const open = useSyncExternalStore(helpOpen.subscribe, helpOpen.get)
  return (
    <Dialog.Root open={open} onOpenChange={(next) => helpOpen.set(next)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog key-map">
          <Dialog.Title className="dialog-title">Keys</Dialog.Title>
          <div className="key-groups">
            {GROUPS.map((group) => (
              <section key={group.title}>
                <h3 className="library-title">{group.title}</h3>
                <dl>
                  {group.keys.map(([keys, does]) => (
                    <div key={keys}>
                      <dt>
                        <kbd>{keys}</kbd>
                      </dt>
                      <dd>{does}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            ))}
          </div>
          <Dialog.Description className="muted">
            Rows are queries, columns are keys. L1H3 is layer 1, head 3, counted from 0. Every score shows its
            definition, n and seed on hover. The address holds the whole state: copy it to come back.
          </Dialog.Description>
          <div className="dialog-foot">
            <span className="spacer" />
            <Dialog.Close className="button">Close</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
