/**
 * The notebook: pinned figures in the person's order, each with a note. In: what the workspace keeps. Out: a page to read,
 * reorder and write in; the whole as one HTML file. Figures are shown as pictures: nothing inside one can act on the page.
 */
import { useMutation } from '@tanstack/react-query'
import { useLayoutEffect, useRef, useState } from 'react'
import type { FigureReply, NotebookReply } from '../../../core/api/contract.ts'
import { get } from '../../api/client.ts'
import {
  deleteFigure,
  notebookFile,
  noteFigure,
  orderFigures,
  pinFigure,
  useNotebook,
} from '../../api/notebook.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { size } from '../../ui/sizes.ts'
import { type CardAction, PinnedCard } from './pinned-card.tsx'
import '../../ui/notebook.css'

export function NotebookView() {
  const notebook = useNotebook()
  if (notebook.isError) return <Failed error={notebook.error} retry={() => void notebook.refetch()} />
  if (!notebook.data) return <Waiting text="Opening the notebook…" />
  return <Notebook figures={notebook.data} />
}

function Notebook({ figures }: { figures: NotebookReply }) {
  const [removed, setRemoved] = useState<{ readonly figure: FigureReply; readonly at: number } | null>(null)
  const change = useMutation({ mutationFn: (work: () => Promise<unknown>) => work() })
  const ids = figures.map(({ id }) => id)
  const list = useRef<HTMLOListElement>(null)
  const focusNext = useRef<{ id: number; action: CardAction; before: NotebookReply } | null>(null)

  // A card that changes its place leaves the document for a moment, and the focus with it: it is given back.
  useLayoutEffect(() => {
    const next = focusNext.current
    if (!next || next.before === figures) return // not moved yet
    const card = list.current?.querySelector(`[data-figure="${next.id}"]`)
    if (!card) return
    focusNext.current = null
    const button = (action: CardAction) =>
      card.querySelector<HTMLButtonElement>(`[data-action=${action}]:enabled`)
    // At an end of the list the same button is off: its counterpart is next to it.
    ;(button(next.action) ?? button(next.action === 'up' ? 'down' : 'up'))?.focus()
  })

  const move = (from: number, to: number, action: CardAction | null) => {
    if (to < 0 || to >= ids.length) return
    if (action) focusNext.current = { id: ids[from]!, action, before: figures }
    const next = ids.filter((_, i) => i !== from)
    next.splice(to, 0, ids[from]!)
    change.mutate(() => orderFigures(next))
  }
  const remove = (id: number, at: number) =>
    change.mutate(async () => {
      const figure = await get<FigureReply>(`/api/notebook/${id}`)
      await deleteFigure(id)
      setRemoved({ figure, at })
    })
  const bringBack = () =>
    change.mutate(async () => {
      const { figure, at } = removed!
      const { id: _, created: _c, bytes: _b, ...input } = figure
      const id = await pinFigure(input)
      focusNext.current = { id, action: 'remove', before: figures }
      await orderFigures([...ids.slice(0, at), id, ...ids.slice(at)])
      setRemoved(null)
    })
  const save = () =>
    change.mutate(async () => saveFile('headscope notebook', 'html', await notebookFile(), 'text/html'))

  return (
    <div className="view notebook-view">
      <div className="toolbar">
        <h2 className="pane-title">
          Notebook
          <span>
            {figures.length} {figures.length === 1 ? 'figure' : 'figures'}
            {figures.length > 0 && ` · ${size(figures.reduce((sum, one) => sum + one.bytes, 0))}`}
          </span>
        </h2>
        {removed && (
          <span className="notebook-removed" role="status">
            Removed “<span className="clip">{removed.figure.title}</span>”
            <button key={removed.figure.id} ref={focusIt} type="button" className="link" onClick={bringBack}>
              Bring it back
            </button>
          </span>
        )}
        <span className="spacer" />
        <button
          type="button"
          className="button small primary"
          disabled={figures.length === 0 || change.isPending}
          title="Figures, notes, numbers and provenance in one file that opens offline"
          onClick={save}
        >
          Export as one HTML file
        </button>
      </div>
      {change.isError && (
        <p className="problem sweep-problem" role="alert">
          {change.error.message}
        </p>
      )}
      {figures.length === 0 ? (
        <Empty title="Nothing is pinned yet">
          <p>
            Every figure has an Export menu: “Pin to notebook” keeps it here as it is, with its numbers, its
            provenance and the command that gives it again. Then write beside it what it shows.
          </p>
        </Empty>
      ) : (
        <ol ref={list} className="notebook-list" aria-label="Pinned figures">
          {figures.map((figure, i) => (
            <PinnedCard
              key={figure.id}
              figure={figure}
              first={i === 0}
              last={i === figures.length - 1}
              onMove={(by) => move(i, i + by, by < 0 ? 'up' : 'down')}
              onDrop={(id) => move(ids.indexOf(id), i, null)}
              onRemove={() => remove(figure.id, i)}
              onNote={(text) => noteFigure(figure.id, text)}
            />
          ))}
        </ol>
      )}
    </div>
  )
}

/** The button that was pressed is gone with its card: the one that takes it back follows. */
function focusIt(element: HTMLElement | null): void {
  element?.focus()
}
