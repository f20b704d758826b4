/** The same result from a terminal or a script, and its numbers as a file. */
import { Menu } from '@base-ui/react/menu'
import { useState } from 'react'
import type { Reproduced } from '../../../core/api/contract.ts'
import { saveFile } from '../../ui/save-file.ts'

interface Props {
  readonly title: string
  /** Makes the texts; asked when the menu is used. */
  readonly reproduce: () => Promise<Reproduced>
  readonly csv: () => string
  readonly figure?: () => string
}

export function CopyMenu({ title, reproduce, csv, figure }: Props) {
  const [said, setSaid] = useState('')
  const copy = (what: keyof Reproduced) =>
    reproduce()
      .then((made) => navigator.clipboard.writeText(made[what]))
      .then(
        () => setSaid('Copied'),
        (error: Error) => setSaid(error.message),
      )
  return (
    <Menu.Root onOpenChange={() => setSaid('')}>
      <Menu.Trigger className="button small" aria-label="Export this result">
        {said || 'Export'}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="choice-positioner">
          <Menu.Popup className="choice-popup">
            <Menu.Item className="choice-item" onClick={() => void copy('command')}>
              Copy as command
            </Menu.Item>
            <Menu.Item className="choice-item" onClick={() => void copy('script')}>
              Copy as script
            </Menu.Item>
            <Menu.Item className="choice-item" onClick={() => saveFile(title, 'csv', csv(), 'text/csv')}>
              Numbers (CSV)
            </Menu.Item>
            {figure && (
              <Menu.Item
                className="choice-item"
                onClick={() => saveFile(title, 'svg', figure(), 'image/svg+xml')}
              >
                Figure (SVG)
              </Menu.Item>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
