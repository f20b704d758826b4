/** Takes the pattern out of the app: a picture for a paper, or its numbers. */
import { Menu } from '@base-ui/react/menu'
import { useState } from 'react'
import type { RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import type { Pattern } from '../../api/pattern.ts'
import { patternCsv, patternPng, patternSvg } from '../../charts/pattern-export.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import { describeEdit } from '../../state/edits.ts'
import { saveFile } from '../../ui/save-file.ts'
import type { Unit } from './use-derived.ts'

interface Props {
  readonly pattern: Pattern
  /** What its cells say. */
  readonly unit: Unit
  readonly tokens: readonly TokenView[]
  readonly display: Display
  readonly run: RunDetail
  readonly title: string
  readonly compact: boolean
}

export function ExportMenu({ pattern, unit, tokens, display, run, title, compact }: Props) {
  const [said, setSaid] = useState('')
  const hash = run.provenance.contentHash?.slice(0, 12) ?? 'unhashed'
  const edits = run.provenance.edits.map(describeEdit).join('; ')
  const provenance = `run ${run.id}, ${tokens.length} tokens, checkpoint ${hash}, f32 on ${run.provenance.device}${edits && `, edits: ${edits}`}`
  const figure = { pattern, tokens, display, title, provenance, unit }
  const copy = (what: 'command' | 'script') =>
    api
      .reproduce({
        kind: 'run',
        request: {
          model: run.model,
          prompt: { ids: tokens.map((token) => token.id) },
          ...(run.provenance.edits.length > 0 ? { edits: run.provenance.edits } : {}),
        },
      })
      .then((made) => navigator.clipboard.writeText(made[what]))
      .then(
        () => setSaid('Copied'),
        (error: Error) => setSaid(error.message),
      )
  return (
    <Menu.Root onOpenChange={() => setSaid('')}>
      <Menu.Trigger className="button small" aria-label="Export the pattern" title="Export: SVG, PNG, CSV">
        {compact ? '⤓' : said || 'Export'}
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
            <Menu.Item className="choice-item" onClick={() => void copy('command')}>
              Copy the run as command
            </Menu.Item>
            <Menu.Item className="choice-item" onClick={() => void copy('script')}>
              Copy the run as script
            </Menu.Item>
            <Menu.Item
              className="choice-item"
              onClick={() => void navigator.clipboard.writeText(location.href).then(() => setSaid('Copied'))}
            >
              Copy the address of this state
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
