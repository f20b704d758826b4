/**
 * The one way out of the app for every figure: SVG, PNG, CSV, and the link, command and script that give it again; and into the notebook. In:
 * the figure, drawn when it is asked for. Out: files and the clipboard; what went wrong stands beside the button.
 */
import { Menu } from '@base-ui/react/menu'
import { useState } from 'react'
import type { Reproduced } from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
import { pinFigure } from '../api/notebook.ts'
import { useAbout, useModel, useRun } from '../api/queries.ts'
import { select } from '../state/store.ts'
import { saveFile } from '../ui/save-file.ts'
import { csvUpTo } from './csv.ts'
import { type DrawnFigure, drawFigure, type Figure, figureCsv } from './figure.ts'
import { svgPng } from './figure-png.ts'
import { sourceOf } from './figure-source.ts'

interface Props {
  /** Of what is shown now. */
  readonly figure: () => Figure
  /** What the button says to a screen reader, where several are on a page. */
  readonly name?: string
  readonly compact?: boolean
}

/** Characters of numbers that the notebook keeps beside a figure; of more the command gives them. */
const LARGEST_CSV = 1_500_000

const PINNED = 'Pinned'

export function FigureMenu({ figure, name = 'this figure', compact = false }: Props) {
  const model = useModel().data
  const run = useRun().data
  const version = useAbout().data?.headscope
  const [said, setSaid] = useState<{ readonly text: string; readonly bad: boolean } | null>(null)

  const does = (done: string, work: () => Promise<unknown>) => () =>
    void work().then(
      () => setSaid({ text: done, bad: false }),
      (error: Error) => setSaid({ text: error.message, bad: true }),
    )
  const draw = async (of: Figure): Promise<DrawnFigure> => {
    const own = typeof of.source === 'function' ? await of.source() : of.source
    return drawFigure(of, own ?? sourceOf(model ?? null, of.ofModel ? null : (run ?? null)), version ?? '')
  }
  const copy = (what: keyof Reproduced) => async () => {
    const asked = figure().reproduce
    if (asked === null)
      throw new Error('No command or script gives this figure yet; its numbers are the CSV.')
    const text = (await api.reproduce(asked))[what]
    if (text === null) throw new Error('No command gives this figure; copy the script.')
    await navigator.clipboard.writeText(text)
  }
  const svg = async () => {
    const drawn = await draw(figure())
    saveFile(drawn.title, 'svg', drawn.svg, 'image/svg+xml')
  }
  const png = async () => {
    const drawn = await draw(figure())
    saveFile(drawn.title, 'png', await svgPng(drawn.svg, drawn.width, drawn.height), 'image/png')
  }
  const numbers = async () => {
    const of = figure()
    saveFile(`${model?.name ?? ''} ${of.title}`, 'csv', figureCsv(of), 'text/csv')
  }
  const pin = async () => {
    const of = figure()
    const drawn = await draw(of)
    const made = of.reproduce && (await api.reproduce(of.reproduce))
    await pinFigure({
      title: drawn.title,
      svg: drawn.svg,
      csv: csvUpTo(of.table(), LARGEST_CSV),
      provenance: drawn.provenance,
      state: location.hash.replace(/^#/, ''),
      command: made?.command ?? null,
      script: made?.script ?? null,
    })
  }
  const items: readonly (readonly [string, () => void] | null)[] = [
    ['Figure (SVG)', does('Saved', svg)],
    ['Figure (PNG, 300 dpi)', does('Saved', png)],
    ['Numbers (CSV)', does('Saved', numbers)],
    null,
    ['Copy link to this state', does('Copied', () => navigator.clipboard.writeText(location.href))],
    ['Copy as command', does('Copied', copy('command'))],
    ['Copy as script', does('Copied', copy('script'))],
    null,
    ['Pin to notebook', does(PINNED, pin)],
  ]
  return (
    <span className="figure-menu">
      {said && (
        <span role={said.bad ? 'alert' : 'status'} className={said.bad ? 'problem' : 'muted small-text'}>
          {said.text}
          {said.text === PINNED && (
            <>
              {' '}
              <button type="button" className="link" onClick={() => select({ tab: 'notebook' })}>
                open
              </button>
            </>
          )}
        </span>
      )}
      <Menu.Root onOpenChange={(open) => open && setSaid(null)}>
        <Menu.Trigger
          className="button small"
          aria-label={`Export ${name}`}
          title="Export: SVG, PNG, CSV, link, command, script"
        >
          {compact ? '⤓' : 'Export'}
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner sideOffset={4} align="end" className="choice-positioner">
            <Menu.Popup className="choice-popup">
              {items.map((item, i) =>
                item === null ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a fixed list
                  <Menu.Separator key={i} className="choice-line" />
                ) : (
                  <Menu.Item key={item[0]} className="choice-item" onClick={item[1]}>
                    {item[0]}
                  </Menu.Item>
                ),
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </span>
  )
}
