/** The edits that fit what is selected: the head, the locked cell, the locked token. A tick marks those that act. */
import { Menu } from '@base-ui/react/menu'
import { useModel } from '../../api/queries.ts'
import { type EditChoice, editChoices } from '../../state/edit-choices.ts'
import { isActive, toggleEdit } from '../../state/edit-history.ts'
import { useSelection } from '../../state/store.ts'

/** What can be edited from here. */
export function useEditChoices(): EditChoice[] {
  const spec = useModel().data?.spec
  const head = useSelection((s) => s.head)
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  if (!spec) return []
  return editChoices({ head, query, key, group: spec.n_heads / spec.n_kv_heads, layers: spec.n_layers })
}

export function EditMenu() {
  const choices = useEditChoices()
  return (
    <Menu.Root>
      <Menu.Trigger className="button small" title="Ablate, knock out or scale what is selected">
        Edit ▾
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="choice-positioner">
          <Menu.Popup className="choice-popup">
            <EditItems choices={choices} />
            <p className="menu-note">Lock a cell or a token for more.</p>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

export function EditItems({ choices }: { choices: readonly EditChoice[] }) {
  const stack = useSelection((s) => s.edits)
  return choices.map(({ label, edit }) => (
    <Menu.CheckboxItem
      key={label}
      className="choice-item check-item"
      checked={isActive(stack, edit)}
      onCheckedChange={() => toggleEdit(edit)}
    >
      <Menu.CheckboxItemIndicator keepMounted className="check-mark">
        ✓
      </Menu.CheckboxItemIndicator>
      {label}
    </Menu.CheckboxItem>
  ))
}
