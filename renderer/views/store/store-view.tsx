/** The workspace: what it holds and costs, runs and sweeps to open or delete, and a read-only SQL console. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CacheReply, ExperimentSummary, StoredRun } from '../../../core/api/contract.ts'
import { analysesApi, useAnalyses } from '../../api/analyses.ts'
import { api, get, post } from '../../api/client.ts'
import { useLibrary } from '../../api/queries.ts'
import { openEditStack, openExperiment, openRun } from '../../state/open.ts'
import { openAnalysis } from '../../state/open-analysis.ts'
import { getSelection, select } from '../../state/store.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { size, when } from '../../ui/sizes.ts'
import { SqlConsole } from './sql-console.tsx'

export function StoreView() {
  const cache = useQueryClient()
  const use = useQuery({ queryKey: ['store'], queryFn: api.store, staleTime: 0 })
  const copies = useQuery({
    queryKey: ['cache'],
    queryFn: () => get<CacheReply>('/api/cache'),
    staleTime: 0,
  })
  const library = useLibrary()
  const experiments = useQuery({ queryKey: ['experiments'], queryFn: api.experiments, staleTime: 0 })
  const refresh = () =>
    Promise.all(
      ['store', 'cache', 'library', 'experiments', 'analyses', 'edit-stacks'].map((name) =>
        cache.invalidateQueries({ queryKey: [name] }),
      ),
    )
  const change = useMutation({ mutationFn: (work: () => Promise<unknown>) => work(), onSettled: refresh })
  // What is opened may be gone, or its checkpoint: that is said, too.
  const open = useMutation({ mutationFn: (work: () => Promise<unknown>) => work() })
  const failed = change.error ?? open.error
  const acts = {
    busy: change.isPending,
    onChange: (work: () => Promise<unknown>) => {
      open.reset()
      change.mutate(work)
    },
    onOpen: (work: () => Promise<unknown>) => {
      change.reset()
      open.mutate(work)
    },
  }
  if (use.isError) return <Failed error={use.error} retry={() => void use.refetch()} />
  if (!use.data) return <Waiting text="Opening the workspace…" />
  const { data } = use
  return (
    <div className="view store-view">
      <header className="store-head">
        <b className="mono clip" title={data.path}>
          {data.path}
        </b>
        <span>
          {size(data.bytes)} · {data.runs} runs · {data.scans} scans · {data.experiments} sweeps ·{' '}
          {data.analyses} analyses · {data.prompts} prompts
        </span>
        <span className="spacer" />
        <button
          type="button"
          className="button small"
          disabled={data.free === 0 || change.isPending}
          title="Gives the room of what was deleted back to the disk"
          onClick={() => change.mutate(api.compact)}
        >
          Compact{data.free > 0 ? `: gives back ${size(data.free)}` : ''}
        </button>
      </header>
      {copies.data && (
        <p className="muted store-cache">
          Float32 copies of weights: {size(copies.data.bytes)}{' '}
          <button
            type="button"
            className="button small"
            disabled={copies.data.bytes === 0 || change.isPending}
            title="Removes them; a checkpoint that needs one writes it again"
            onClick={() => change.mutate(() => post('/api/cache/clear', {}))}
          >
            Clear
          </button>
        </p>
      )}
      {failed && (
        <p className="problem sweep-problem" role="alert">
          {failed.message}
        </p>
      )}
      <div className="store-body">
        <Runs runs={library.data?.runs ?? []} {...acts} />
        <Sweeps experiments={experiments.data ?? []} {...acts} />
        <SqlConsole />
      </div>
    </div>
  )
}

interface ListProps {
  readonly busy: boolean
  readonly onChange: (work: () => Promise<unknown>) => void
  readonly onOpen: (work: () => Promise<unknown>) => void
}

/** What cannot be undone asks once more: the first click says so, the second one does it, leaving it takes it back. */
function useSure() {
  const [asked, setAsked] = useState<string | null>(null)
  return (what: string, work: () => void) => ({
    sure: asked === what,
    onBlur: () => setAsked(null),
    onClick: () => {
      if (asked === what) work()
      setAsked(asked === what ? null : what)
    },
  })
}

interface ActionProps extends ReturnType<ReturnType<typeof useSure>> {
  readonly name: string
  readonly label: string
  readonly busy: boolean
  readonly danger?: boolean
  readonly title?: string
}

function Action({ sure, name, label, busy, danger = false, title, ...does }: ActionProps) {
  return (
    <button
      type="button"
      className={danger ? 'link is-danger' : 'link'}
      disabled={busy}
      aria-label={sure ? `Really ${label.toLowerCase()}` : label}
      title={title}
      {...does}
    >
      {sure ? `really ${name}` : name}
    </button>
  )
}

function Runs({ runs, busy, onChange, onOpen }: ListProps & { runs: readonly StoredRun[] }) {
  const sure = useSure()
  const sorted = [...runs].sort((a, b) => b.id - a.id)
  return (
    <section className="store-list" aria-label="Runs">
      <h3 className="pane-title">
        Runs <span>{size(runs.reduce((sum, run) => sum + run.bytes, 0))}</span>
      </h3>
      <div className="table-scroll">
        <table className="data-table">
          <thead>
            <tr>
              <th scope="col">run</th>
              <th scope="col">prompt</th>
              <th scope="col">checkpoint</th>
              <th scope="col">tokens</th>
              <th scope="col">edits</th>
              <th scope="col">size</th>
              <th scope="col">when</th>
              <th scope="col">
                <span className="hidden-text">actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((run) => (
              <tr key={run.id}>
                <td className="number">{run.id}</td>
                <td className="clip is-wide">
                  <button
                    type="button"
                    className="link"
                    title={run.text ?? undefined}
                    onClick={() => onOpen(() => openRun(run))}
                  >
                    {run.text ?? `${run.tokens} ids`}
                  </button>
                </td>
                <td className="clip">{run.modelName}</td>
                <td className="number">{run.tokens}</td>
                <td className="number">{run.edits || ''}</td>
                <td className="number">{size(run.bytes)}</td>
                <td className="muted">{when(run.created)}</td>
                <td className="row-actions">
                  {run.captures && (
                    <Action
                      name="scores only"
                      label={`Keep scores only of run ${run.id}`}
                      title="Drops patterns and residuals, keeps provenance, losses and predictions"
                      busy={busy}
                      {...sure(`scores ${run.id}`, () => onChange(() => api.keepScores(run.id)))}
                    />
                  )}
                  <Action
                    name="delete"
                    label={`Delete run ${run.id}`}
                    danger
                    busy={busy}
                    {...sure(`delete ${run.id}`, () =>
                      onChange(async () => {
                        await api.deleteRun(run.id)
                        if (getSelection().run === run.id) select({ run: null, query: null, key: null })
                      }),
                    )}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {runs.length === 0 && <p className="muted">Nothing stored yet: run a prompt.</p>}
      </div>
    </section>
  )
}

/** Sweeps, finished analyses and kept edits, newest first. */
function Sweeps({
  experiments,
  busy,
  onChange,
  onOpen,
}: ListProps & { experiments: readonly ExperimentSummary[] }) {
  const analyses = useAnalyses().data ?? []
  const stacks = useQuery({ queryKey: ['edit-stacks'], queryFn: api.editStacks }).data ?? []
  const rows = [
    ...experiments.map((e) => ({
      ...{ id: e.id, title: e.title, modelName: e.modelName, created: e.created },
      state: `${e.done}/${e.cells}${e.complete ? '' : ' unfinished'}`,
      open: () => openExperiment(e),
      remove: () => api.deleteExperiment(e.id),
    })),
    ...analyses.map((a) => ({
      ...{ id: a.id, title: a.title, modelName: a.modelName, created: a.created },
      state: '',
      open: () => openAnalysis(a),
      remove: () => analysesApi.delete(a.id),
    })),
    ...stacks.map((one) => ({
      ...{ id: one.id, title: one.name, modelName: one.modelName, created: one.created },
      state: one.edits === 1 ? '1 edit' : `${one.edits} edits`,
      open: () => openEditStack(one),
      remove: () => api.deleteEditStack(one.id),
    })),
  ].sort((a, b) => b.id - a.id)
  const sure = useSure()
  return (
    <section className="store-list" aria-label="Sweeps">
      <h3 className="pane-title">Sweeps, analyses, kept edits</h3>
      <div className="table-scroll">
        <table className="data-table">
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                <td className="number">{row.id}</td>
                <td className="clip is-wide">
                  <button type="button" className="link" title={row.title} onClick={() => onOpen(row.open)}>
                    {row.title}
                  </button>
                </td>
                <td className="clip">{row.modelName}</td>
                <td className="number">{row.state}</td>
                <td className="muted">{when(row.created)}</td>
                <td className="row-actions">
                  <Action
                    name="delete"
                    label={`Delete sweep ${row.id}`}
                    danger
                    busy={busy}
                    {...sure(`delete ${row.id}`, () => onChange(row.remove))}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && (
          <p className="muted">Nothing yet: see Ablation, Patching, Corpus, Relation, Compare and Series.</p>
        )}
      </div>
    </section>
  )
}
