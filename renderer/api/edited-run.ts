/** The selected prompt with edits, as a stored run. In: a run and the edits that act. Out: the run with them. */
import type { PromptInput, RunDetail } from '../../core/api/contract.ts'
import type { Edit } from '../../core/run/types.ts'
import { api } from './client.ts'
import { runPrompt } from './jobs.ts'
import { queryClient } from './query-client.ts'

/** The run of the same tokens with edits: a stored one where there is one, else it is run now. Stored, so that it is once. */
export async function editedRun(run: RunDetail, edits: readonly Edit[]): Promise<RunDetail> {
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
    const same = found.views.every((view, i) => view.id === run.views[i]?.id)
    if (same && JSON.stringify(found.provenance.edits) === wanted) return found
  }
  const made = await runPrompt({ model: run.model, prompt: await samePrompt(run), edits })
  void queryClient.invalidateQueries({ queryKey: ['library'] })
  return detail(made.run)
}

/** As its text where that gives the same ids, so that the library shows one prompt and not two. */
async function samePrompt(run: RunDetail): Promise<PromptInput> {
  const ids = run.views.map((view) => view.id)
  if (run.text === null) return { ids }
  const bos = run.views[0]?.special ? ('yes' as const) : ('no' as const)
  const { tokens } = await api.tokenize({ model: run.model, text: run.text, bos })
  const same = tokens.length === ids.length && tokens.every((token, i) => token.id === ids[i])
  return same ? { text: run.text, bos } : { ids }
}
