/**
 * The notebook: pinned figures in the person's order, each with a note. In: what the workspace keeps. Out: a page to read,
 * reorder and write in; the whole as one HTML file. Figures are shown as pictures: nothing inside one can act on the page.
 */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
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
import { PinnedCard } from './pinned-card.tsx'
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

  const move = (from: number, to: number) => {
    if (to < 0 || to >= ids.length) return
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
            <button type="button" className="link" onClick={bringBack}>
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
        <ol className="notebook-list" aria-label="Pinned figures">
          {figures.map((figure, i) => (
            <PinnedCard
              key={figure.id}
              figure={figure}
              first={i === 0}
              last={i === figures.length - 1}
              onMove={(by) => move(i, i + by)}
              onDrop={(id) => move(ids.indexOf(id), i)}
              onRemove={() => remove(figure.id, i)}
              onNote={(text) => noteFigure(figure.id, text)}
            />
          ))}
        </ol>
      )}
    </div>
  )
}
