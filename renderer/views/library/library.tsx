/** What there is to look at: checkpoints with their training series, prompts, and stored runs. */
import { useMutation } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type {
  LibraryModel,
  OpenedModel,
  RunDetail,
  StoredPrompt,
  StoredRun,
} from '../../../core/api/contract.ts'
import { isOnlyViewed } from '../../api/edited-run.ts'
import { useLibrary, useModel, useRun } from '../../api/queries.ts'
import { openRun, openWithPrompt, runStored } from '../../state/open.ts'
import { useSelection } from '../../state/store.ts'
import { Failed } from '../../ui/notice.tsx'
import { NotebookEntry } from '../notebook/library-entry.tsx'
import { ExperimentList } from './experiment-list.tsx'
import { OpenDialog } from './open-dialog.tsx'

/** More ids than this are not read in a title. */
const MOST_IDS = 60

export function Library() {
  const library = useLibrary()
  const model = useModel()
  const run = useRun()
  const open = useMutation({
    mutationFn: (path: string) => openWithPrompt(path, run.data),
  })
  const show = useMutation({ mutationFn: openRun })
  const again = useMutation({
    mutationFn: (given: { model: OpenedModel; prompt: StoredPrompt }) => runStored(given.model, given.prompt),
  })
  const runId = useSelection((s) => s.run)
  // A checkpoint that an address opened became a recent one after the list was read.
  const { refetch } = library
  const unlisted = library.data && model.data ? !isListed(library.data.models, model.data.path) : false
  useEffect(() => {
    if (unlisted) void refetch()
  }, [unlisted, refetch])
  const problem = [open.error, show.error, again.error].find(
    (e) => e && (e as { code?: string }).code !== 'cancelled',
  )

  if (library.isError) return <Failed error={library.error} retry={() => void library.refetch()} />
  const { models = [], prompts = [], runs = [] } = library.data ?? {}
  return (
    <nav className="library" aria-label="Library">
      <OpenDialog recents={models.filter((m) => m.origin === 'recent')} />
      {problem && (
        <p className="problem library-problem" role="alert">
          {problem.message}
        </p>
      )}
      <h2 className="library-title">Models</h2>
      <ul className="library-list">
        {models.map((m) => (
          <ModelEntry key={m.path} model={m} onOpen={(path) => open.mutate(path)} />
        ))}
      </ul>
      <h2 className="library-title">Prompts</h2>
      <ul className="library-list">
        {[...prompts].reverse().map((prompt) => (
          <li key={`${prompt.id} ${prompt.decoder?.id ?? ''}`}>
            <button
              type="button"
              className={isShown(prompt, run.data) ? 'library-row is-selected' : 'library-row'}
              disabled={!model.data}
              title={[
                `${prompt.ids.length} tokens`,
                wordsOf(prompt),
                prompt.decoder && `decoder: ${wordsOf(prompt.decoder)}`,
              ]
                .filter(Boolean)
                .join('\n')}
              onClick={() => model.data && again.mutate({ model: model.data, prompt })}
            >
              <span className="clip">
                {prompt.text ?? idsOf(prompt.ids, 12)}
                {prompt.decoder && <span className="muted"> → {wordsOf(prompt.decoder, 12)}</span>}
              </span>
              {prompt.text !== null && prompt.ids.length > 0 && (
                <i className="count" aria-hidden="true">
                  {prompt.ids.length}
                </i>
              )}
            </button>
          </li>
        ))}
        {prompts.length === 0 && <li className="library-none">Prompts that you run appear here.</li>}
      </ul>
      <h2 className="library-title">Runs</h2>
      <ul className="library-list">
        {runs
          .filter((r) => !isOnlyViewed(r))
          .sort((a, b) => b.id - a.id)
          .slice(0, 100)
          .map((r) => (
            <RunEntry key={r.id} run={r} selected={r.id === runId} onShow={() => show.mutate(r)} />
          ))}
        {runs.every((r) => isOnlyViewed(r)) && <li className="library-none">Nothing stored yet.</li>}
      </ul>
      <ExperimentList />
      <NotebookEntry />
    </nav>
  )
}

function isListed(models: readonly LibraryModel[], path: string): boolean {
  return models.some((known) => known.path === path || known.series.some((member) => member.path === path))
}

/** A text, or its ids. */
function wordsOf({ text, ids }: Pick<StoredPrompt, 'text' | 'ids'>, most = MOST_IDS): string {
  return text || idsOf(ids, most)
}

/** How many there are says more than which the first are: prompts that were made often begin alike. */
function idsOf(ids: readonly number[], most: number): string {
  return `${ids.length} ids: ${ids.slice(0, most).join(', ')}${ids.length > most ? '…' : ''}`
}

/** Whether the shown run is of this prompt: of both texts where there are two. */
function isShown({ text, decoder }: StoredPrompt, run: RunDetail | null | undefined): boolean {
  if (text === null || text !== run?.text) return false
  return !decoder || decoder.ids.join() === run.views.map((view) => view.id).join()
}

function ModelEntry({ model, onOpen }: { model: LibraryModel; onOpen(path: string): void }) {
  const selected = useSelection((s) => s.model)
  const inside = selected === model.path || model.series.some((member) => member.path === selected)
  const [chosen, setChosen] = useState<boolean | null>(null)
  const shown = chosen ?? inside
  return (
    <li>
      <div className="model-line">
        {model.series.length > 0 ? (
          <button
            type="button"
            className="fold"
            aria-expanded={shown}
            aria-label={`Training series of ${model.name}`}
            onClick={() => setChosen(!shown)}
          >
            {shown ? '▾' : '▸'}
          </button>
        ) : (
          <span className="fold" />
        )}
        <button
          type="button"
          className={selected === model.path ? 'library-row is-selected' : 'library-row'}
          title={model.path}
          onClick={() => onOpen(model.path)}
        >
          <span className="clip">{model.name}</span>
          {model.series.length > 0 && <i className="count">{model.series.length} steps</i>}
          {model.origin === 'recent' && <i className="count">recent</i>}
        </button>
      </div>
      {shown && model.series.length > 0 && (
        <ul className="series" aria-label={`Steps of ${model.name}`}>
          {model.series.map((member) => (
            <li key={member.path}>
              <button
                type="button"
                className={selected === member.path ? 'series-step is-selected' : 'series-step'}
                title={`Open ${member.at} and run the same prompt`}
                onClick={() => onOpen(member.path)}
              >
                {member.at.replace(/^step/, '')}
              </button>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

function RunEntry({ run, selected, onShow }: { run: StoredRun; selected: boolean; onShow(): void }) {
  return (
    <li>
      <button
        type="button"
        className={selected ? 'library-row is-selected' : 'library-row'}
        title={`run ${run.id} · ${run.modelName} · ${run.tokens} tokens · ${(run.bytes / 1024).toFixed(0)} KB · ${run.created}\n${run.text ?? ''}`}
        onClick={onShow}
      >
        <span className="run-id">{run.id}</span>
        <span className="clip">{run.text ?? `${run.tokens} ids`}</span>
        <i className="count">
          {run.edits > 0 ? `${run.edits} ${run.edits === 1 ? 'edit' : 'edits'}` : run.modelName}
        </i>
      </button>
    </li>
  )
}
