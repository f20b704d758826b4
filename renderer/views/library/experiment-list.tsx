/** What was computed and is kept: analyses and sweeps, newest first. A click shows one again; nothing is computed. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ExperimentSummary } from '../../../core/api/contract.ts'
import { useAnalyses } from '../../api/analyses.ts'
import { api } from '../../api/client.ts'
import { openEditStack, openExperiment, SWEEP_TABS } from '../../state/open.ts'
import { isShown, openAnalysis } from '../../state/open-analysis.ts'
import { useSelection } from '../../state/store.ts'
import { when } from '../../ui/sizes.ts'

/** Entries that are shown before the rest is asked for. */
const SHOWN = 12

interface Entry {
  readonly id: number
  readonly title: string
  readonly modelName: string
  /** How much of it there is; absent where its title says so. */
  readonly size?: string
  readonly created: string
  readonly isOpen: boolean
  readonly open: () => Promise<void>
}

const sweepTool = (kind: ExperimentSummary['kind']) => (kind === 'ablate' ? 'ablation' : kind)

export function ExperimentList() {
  const analyses = useAnalyses()
  const sweeps = useQuery({ queryKey: ['experiments'], queryFn: api.experiments })
  const stacks = useQuery({ queryKey: ['edit-stacks'], queryFn: api.editStacks })
  const [all, setAll] = useState(false)
  const show = useMutation({ mutationFn: (open: () => Promise<void>) => open() })
  const tab = useSelection((s) => s.tab)
  const tool = useSelection((s) => s.tool)
  const entries: Entry[] = [
    ...(analyses.data ?? []).map((one) => ({
      ...one,
      isOpen: isShown(one, { tab, tool }),
      open: () => openAnalysis(one),
    })),
    ...(sweeps.data ?? []).map((one) => ({
      ...one,
      title: one.complete ? one.title : `${one.title} (unfinished)`,
      size: `${one.done}${one.complete ? '' : ` of ${one.cells}`} cells`,
      isOpen:
        // The effects of several measurements of paths are shown together.
        tab === SWEEP_TABS[one.kind] && (tool[sweepTool(one.kind)] ?? '').split('.').includes(String(one.id)),
      open: () => openExperiment(one),
    })),
    ...(stacks.data ?? []).map((one) => ({
      ...one,
      title: `${one.name}, ${one.edits} ${one.edits === 1 ? 'edit' : 'edits'}`,
      isOpen: false,
      open: () => openEditStack(one),
    })),
  ].sort((a, b) => b.id - a.id)
  return (
    <>
      <h2 className="library-title">Experiments</h2>
      {show.error && (
        <p className="problem library-problem" role="alert">
          {show.error.message}
        </p>
      )}
      <ul className="library-list">
        {entries
          .slice(0, all ? entries.length : SHOWN)
          .map(({ id, title, size, modelName, created, isOpen, open }) => (
            <li key={id}>
              <button
                type="button"
                className={isOpen ? 'library-row is-selected' : 'library-row'}
                title={`${title}${size ? ` · ${size}` : ''} · ${modelName} · ${when(created)}\nkept as experiment ${id}; opens without computing`}
                onClick={() => show.mutate(open)}
              >
                <span className="run-id">{id}</span>
                <span className="clip">{title}</span>
              </button>
            </li>
          ))}
        {entries.length > SHOWN && (
          <li>
            <button type="button" className="library-row muted" onClick={() => setAll(!all)}>
              {all ? 'Show fewer' : `Show all ${entries.length}`}
            </button>
          </li>
        )}
        {entries.length === 0 && (
          <li className="library-none">Sweeps, places in texts, comparisons and the like appear here.</li>
        )}
      </ul>
    </>
  )
}
