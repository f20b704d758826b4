/** “Heads where X attends to Y above t”, over the runs that the store has of this checkpoint; they can be added here. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OpenedModel, SearchReply, SearchRequest } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { headsApi, startWork, useWork } from '../../api/heads.ts'
import { useLibrary } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { grouped, preciseWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { ExampleRow } from './example-row.tsx'
import { HeadLines } from './head-lines.tsx'
import { PickFields } from './pick-fields.tsx'
import { choicesOf, usePicks } from './picks.ts'
import { useTexts } from './source.ts'
import { SourceBar } from './source-bar.tsx'
import { WorkState } from './work-state.tsx'

const EXAMPLES = 24

export function SearchPanel({ model }: { model: OpenedModel }) {
  const picks = usePicks('search')
  const [weight, setWeight] = useState('0.5')
  const [asked, setAsked] = useState<SearchRequest | null>(null)
  const least = Number(weight)
  const valid = weight.trim() !== '' && least >= 0 && least <= 1
  const library = useLibrary().data
  const runs = library?.runs.filter((run) => run.model === model.path && run.edits === 0) ?? []
  return (
    <>
      <SourceBar />
      <Keep model={model} stored={runs.length} />
      <form
        className="toolbar is-wrapping corpus-run"
        onSubmit={(event) => {
          event.preventDefault()
          if (valid) setAsked({ model: model.path, min_weight: least, ...choicesOf(picks) })
        }}
      >
        <span className="field">
          <b>heads</b>
        </span>
        <PickFields asker="search" />
        <label className="field">
          <span>with a weight of</span>
          <input
            className="input corpus-count"
            type="number"
            min={0}
            max={1}
            step={0.05}
            aria-invalid={!valid}
            value={weight}
            onChange={(event) => setWeight(event.target.value)}
          />
          <span>or more</span>
        </label>
        <button type="submit" className="button small primary" disabled={!valid}>
          Search {runs.length} stored {runs.length === 1 ? 'run' : 'runs'}
        </button>
      </form>
      {asked ? (
        <Results key={JSON.stringify(asked)} model={model} asked={asked} />
      ) : (
        <Empty title="Nothing has been searched yet">
          <p>
            Choose which tokens should attend to which. The search looks through the stored runs of this
            checkpoint; texts become runs by the button above.
          </p>
        </Empty>
      )}
    </>
  )
}

/** Runs the chosen texts and keeps the runs. */
function Keep({ model, stored }: { model: OpenedModel; stored: number }) {
  const texts = useTexts()
  const newest = useWork('kept')
  const work = newest?.request.model === model.path ? newest : undefined
  const start = async () => {
    await startWork(
      'kept',
      { model: model.path, prompts: texts.prompts, keep: 1, store: true },
      `Keeping ${texts.prompts.length} texts as runs`,
    )
    await queryClient.invalidateQueries({ queryKey: ['library'] })
    await queryClient.invalidateQueries({ queryKey: ['edge-search'] })
  }
  return (
    <div className="toolbar is-wrapping corpus-run">
      <button
        type="button"
        className="button small"
        disabled={texts.prompts.length === 0 || work?.state === 'running'}
        onClick={() => void start()}
      >
        Run {texts.prompts.length} {texts.prompts.length === 1 ? 'text' : 'texts'} and keep the runs
      </button>
      <span className="muted small-text" role="status">
        {work?.state === 'done'
          ? `${work.reply?.runs.length ?? 0} runs hold these texts; ${stored} can be searched`
          : `${stored} can be searched`}
      </span>
      {work && work.state !== 'done' && (
        <WorkState kind="kept" work={work} text="Running and keeping the texts…" />
      )}
    </div>
  )
}

function Results({ model, asked }: { model: OpenedModel; asked: SearchRequest }) {
  const selected = useSelection((s) => s.head)
  const all = useQuery({
    queryKey: ['edge-search', asked],
    queryFn: ({ signal }) => headsApi.search({ ...asked, limit: 1 }, signal),
    retry: false,
  })
  const has = (head: HeadId | null) =>
    head !== null && all.data?.heads.some((one) => headName(one) === headName(head))
  const head = has(selected) ? selected : (all.data?.heads[0] ?? null)
  const layer = head?.layer ?? 0
  const index = head?.head ?? 0
  const examples = useQuery({
    queryKey: ['edge-search', asked, layer, index],
    queryFn: ({ signal }) => headsApi.search({ ...asked, layer, head: index, limit: EXAMPLES }, signal),
    enabled: head !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (all.isError) return <Failed error={all.error} retry={() => void all.refetch()} />
  if (!all.data) return <Waiting text="Searching the stored edges…" />
  const { items, total, source } = all.data
  if (total === 0 || head === null)
    return (
      <Empty title={`No such edge in ${items} stored prompts`}>
        <p>Choose a smaller weight, other tokens, or run more texts and keep them.</p>
      </Empty>
    )
  const most = Math.max(...all.data.heads.map(({ count }) => count))
  const name = headName(head)
  return (
    <div className="corpus-result is-narrow">
      <section className="corpus-main" aria-label="Heads found">
        <h3 className="pane-title">
          {all.data.heads.length} heads{' '}
          <span title={source === 'edges' ? 'read from the indexed edges' : 'read from the stored patterns'}>
            {grouped(total)} edges in {items} prompts
          </span>
        </h3>
        <HeadLines
          shown={name}
          lines={all.data.heads.map((one) => ({
            layer: one.layer,
            head: one.head,
            value: one.count / most,
            says: grouped(one.count),
            title: `${one.count} edges in ${one.items} prompts, the strongest ${preciseWeight(one.largest)}`,
          }))}
        />
      </section>
      <div className="corpus-side">
        <section className="corpus-examples" aria-label={`Edges of ${name}`}>
          <h3 className="pane-title">
            {name} <span>its strongest edges; the marked tokens are key and query</span>
          </h3>
          {examples.isError && <Failed error={examples.error} retry={() => void examples.refetch()} />}
          <ol>
            {examples.data?.examples.map((edge) => (
              <StoredExample key={`${edge.run} ${edge.query} ${edge.key}`} model={model} edge={edge} />
            ))}
          </ol>
        </section>
      </div>
    </div>
  )
}

function StoredExample({ model, edge }: { model: OpenedModel; edge: SearchReply['examples'][number] }) {
  const run = useQuery({ queryKey: ['run', edge.run], queryFn: () => api.run(edge.run) })
  if (run.isError)
    return (
      <li className="problem" role="alert">
        {run.error.message}
      </li>
    )
  return (
    <ExampleRow
      tokens={run.data?.views ?? []}
      query={edge.query}
      at={edge.key}
      weight={edge.weight}
      onOpen={async () =>
        select({
          model: model.path,
          run: edge.run,
          tab: 'pattern',
          head: { layer: edge.layer, head: edge.head },
          query: edge.query,
          key: edge.key,
          also: [],
        })
      }
    />
  )
}
