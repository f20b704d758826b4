/**
 * The selected prompt with edits, as a stored run. In: a run and the edits that act. Out: the run with them. It is stored
 * to be looked at: the last few stay, older ones are deleted, unless a person opens them in the library.
 */
import type { PromptInput, RunDetail } from '../../core/api/contract.ts'
import type { Edit } from '../../core/run/types.ts'
import { editsOf, promptOf } from '../state/prompt-of.ts'
import { createStore, getSelection } from '../state/store.ts'
import {
  type RunName,
  readViewed,
  sameRun,
  type ViewedRun,
  withViewed,
  writeViewed,
} from '../state/viewed-runs.ts'
import { api } from './client.ts'
import { runPrompt } from './jobs.ts'
import { queryClient } from './query-client.ts'

/** The run of the same tokens with edits: a stored one where there is one, else it is run now. Stored, so that it is once. */
export async function editedRun(run: RunDetail, given: readonly Edit[]): Promise<RunDetail> {
  const edits = editsOf(run, given)
  const wanted = JSON.stringify(edits)
  const detail = (id: number) => queryClient.fetchQuery({ queryKey: ['run', id], queryFn: () => api.run(id) })
  const { runs } = await queryClient.fetchQuery({ queryKey: ['library'], queryFn: api.library })
  const alike = runs.filter(
    (r) =>
      r.model === run.model &&
      r.edits === edits.length &&
      r.tokens === run.views.length &&
      r.text === run.text,
  )
  for (const { id } of alike) {
    const found = await detail(id)
    const same = JSON.stringify(promptOf(found)) === JSON.stringify(promptOf(run))
    if (same && JSON.stringify(found.provenance.edits) === wanted) {
      if (isOnlyViewed(found)) viewed(found)
      return found
    }
  }
  const made = await runPrompt({ model: run.model, prompt: await samePrompt(run), edits })
  const found = await detail(made.run)
  viewed(found)
  void queryClient.invalidateQueries({ queryKey: ['library'] })
  return found
}

const list = createStore<readonly ViewedRun[]>(readViewed(globalThis.localStorage))
const WINDOW = windowName()

/** Whether a run is there only because its pattern was looked at: the library does not list it. */
export function isOnlyViewed(run: RunName): boolean {
  return list.get().some((one) => sameRun(one, run))
}

/** A person opened the run itself: it stays. */
export function keepViewed(run: RunName): void {
  if (isOnlyViewed(run)) keep(list.get().filter((one) => !sameRun(one, run)))
}

/** Notes a run that was made to be looked at, and deletes those that nobody needs any more. */
function viewed({ id, created }: RunName): void {
  const { run: selected, held } = getSelection()
  const needed = [selected, held?.run].filter((run) => run != null)
  const known = readViewed(globalThis.localStorage) // another window may have written since
  const { kept, gone } = withViewed(known, { id, created, window: WINDOW, made: Date.now() }, needed)
  keep(kept)
  if (gone.length > 0) void forget(gone).catch(() => undefined) // one that is gone already was what we wanted
}

/** Deletes runs of this workspace; those of another, of the same number, are left to it. */
async function forget(gone: readonly RunName[]): Promise<void> {
  const { runs } = await api.library()
  for (const { id } of runs.filter((run) => gone.some((one) => sameRun(one, run)))) {
    queryClient.removeQueries({ queryKey: ['run', id] })
    queryClient.removeQueries({
      predicate: ({ queryKey, state }) =>
        queryKey[0] === 'edited' && (state.data as RunDetail | undefined)?.id === id,
    })
    await api.deleteRun(id)
  }
  await queryClient.invalidateQueries({ queryKey: ['library'] })
}

/** The same after a reload, another in every window. */
function windowName(): string {
  const made = Math.random().toString(36).slice(2)
  try {
    const known = sessionStorage.getItem('headscope.window') ?? made
    sessionStorage.setItem('headscope.window', known)
    return known
  } catch {
    return made // storage is switched off
  }
}

function keep(next: readonly ViewedRun[]): void {
  list.set(next)
  writeViewed(globalThis.localStorage, next)
}

/** As its text where that gives the same ids, so that the library shows one prompt and not two. */
async function samePrompt(run: RunDetail): Promise<PromptInput> {
  const ids = run.views.map((view) => view.id)
  if (run.text === null || run.source) return promptOf(run)
  const bos = run.views[0]?.special ? ('yes' as const) : ('no' as const)
  const { tokens } = await api.tokenize({ model: run.model, text: run.text, bos })
  const same = tokens.length === ids.length && tokens.every((token, i) => token.id === ids[i])
  return same ? { text: run.text, bos } : { ids }
}
