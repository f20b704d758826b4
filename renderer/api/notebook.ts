/**
 * Notes on heads and the notebook of pinned figures. In: what is written. Out: what the workspace keeps; lists in the query
 * cache follow each change. Failures are ApiFailure with the engine's sentence.
 */
import { useQuery } from '@tanstack/react-query'
import type {
  FigureReply,
  NotebookReply,
  NoteReply,
  NoteRequest,
  NotesReply,
  PinReply,
  PinRequest,
} from '../../core/api/contract.ts'
import { useSelection } from '../state/store.ts'
import { get, getText, post, put, remove } from './client.ts'
import { queryClient } from './query-client.ts'

/** Bodies beyond this may not outlive their page (64 KB in all browsers). */
const KEEPALIVE = 15_000

const NOTEBOOK = ['notebook']

/** The notes on the heads of the selected checkpoint. Waits for the hash of its weights. */
export function useNotes() {
  const path = useSelection((s) => s.model)
  return useQuery({
    queryKey: ['notes', path],
    queryFn: () => get<NotesReply>('/api/notes', { model: path! }),
    enabled: path !== null,
  })
}

/** Writes the note on a head; an empty text removes it. */
export async function saveNote(request: NoteRequest): Promise<void> {
  const { note } = await put<NoteReply>('/api/notes', request, request.text.length < KEEPALIVE)
  queryClient.setQueryData<NotesReply>(['notes', request.model], (before = []) => {
    const others = before.filter((one) => one.layer !== request.layer || one.head !== request.head)
    return note ? [...others, note].sort((a, b) => a.layer - b.layer || a.head - b.head) : others
  })
}

export function useNotebook() {
  return useQuery({ queryKey: NOTEBOOK, queryFn: () => get<NotebookReply>('/api/notebook'), staleTime: 0 })
}

/** One figure whole. What is pinned never changes. */
export function usePinned(id: number) {
  return useQuery({
    queryKey: ['pinned', id],
    queryFn: () => get<FigureReply>(`/api/notebook/${id}`),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export async function pinFigure(figure: PinRequest): Promise<number> {
  const { id } = await post<PinReply>('/api/notebook', figure)
  await queryClient.invalidateQueries({ queryKey: NOTEBOOK })
  return id
}

export async function noteFigure(id: number, text: string): Promise<void> {
  await put(`/api/notebook/${id}/note`, { text }, text.length < KEEPALIVE)
  queryClient.setQueryData<NotebookReply>(NOTEBOOK, (before) =>
    before?.map((one) => (one.id === id ? { ...one, note: text } : one)),
  )
}

let lastOrder = 0

/** Shows the new order at once; the engine's answer follows. An answer that came late does not undo a later order. */
export async function orderFigures(ids: readonly number[]): Promise<void> {
  const own = ++lastOrder
  queryClient.setQueryData<NotebookReply>(NOTEBOOK, (before = []) =>
    [...before].sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)),
  )
  try {
    const kept = await put<NotebookReply>('/api/notebook/order', { ids })
    if (own === lastOrder) queryClient.setQueryData(NOTEBOOK, kept)
  } catch (error) {
    await queryClient.invalidateQueries({ queryKey: NOTEBOOK })
    throw error
  }
}

export async function deleteFigure(id: number): Promise<void> {
  await remove(`/api/notebook/${id}`)
  await queryClient.invalidateQueries({ queryKey: NOTEBOOK })
}

/** The whole notebook as the text of an HTML file. */
export const notebookFile = () => getText('/api/notebook/export')
