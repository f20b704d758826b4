/** Takes the pattern out of the app: a picture for a paper, or its numbers. */
import { Menu } from '@base-ui/react/menu'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import { patternCsv, patternPng, patternSvg } from '../../charts/pattern-export.ts'
import type { Display } from '../../charts/pattern-pixels.ts'

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
              onClick={() => save(title, 'svg', new Blob([patternSvg(figure)], { type: 'image/svg+xml' }))}
            >
              Figure (SVG, labels as text)
            </Menu.Item>
            <Menu.Item
              className="choice-item"
              onClick={() => void patternPng(figure).then((blob) => save(title, 'png', blob))}
            >
              Figure (PNG)
            </Menu.Item>
            <Menu.Item
              className="choice-item"
              onClick={() => save(title, 'csv', new Blob([patternCsv(figure)], { type: 'text/csv' }))}
            >
              Weights (CSV)
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

function save(title: string, extension: string, blob: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = `${title.replaceAll(/[^\w.-]+/g, '-')}.${extension}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
