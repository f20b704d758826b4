/** Takes the pattern out of the app: a picture for a paper, or its numbers. */
import { Menu } from '@base-ui/react/menu'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import { patternCsv, patternPng, patternSvg } from '../../charts/pattern-export.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import { saveFile } from '../../ui/save-file.ts'

interface Props {
  readonly pattern: Pattern
  readonly tokens: readonly TokenView[]
  readonly display: Display
  readonly title: string
  readonly compact: boolean
}

export function ExportMenu({ pattern, tokens, display, title, compact }: Props) {
  const figure = { pattern, tokens, display, title }
  return (
    <Menu.Root>
      <Menu.Trigger className="button small" aria-label="Export the pattern" title="Export: SVG, PNG, CSV">
        {compact ? '⤓' : 'Export'}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end">
          <Menu.Popup className="choice-popup">
            <Menu.Item
              className="choice-item"
              onClick={() => saveFile(title, 'svg', patternSvg(figure), 'image/svg+xml')}
            >
              Figure (SVG, labels as text)
            </Menu.Item>
            <Menu.Item
              className="choice-item"
              onClick={() =>
                void patternPng(figure).then((blob) => saveFile(title, 'png', blob, 'image/png'))
              }
            >
              Figure (PNG)
            </Menu.Item>
            <Menu.Item
              className="choice-item"
              onClick={() => saveFile(title, 'csv', patternCsv(figure), 'text/csv')}
            >
              Weights (CSV)
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
