/**
 * A training series: every score at every step. In: the members of the selected checkpoint's series, scanned one by one
 * where they are not. Out: curves, the onset, a slider that moves the grid, the pattern and the prediction together.
 */
import { useMutation, useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { LibraryModel, OpenedModel } from '../../../core/api/contract.ts'
import { lossDropOf, onsetOf } from '../../../core/compare/onset.ts'
import { api } from '../../api/client.ts'
import { cancelWork, startWork, useShown } from '../../api/heads.ts'
import { useLibrary, useModel, useRun } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { scanLine } from '../../charts/figure-source.ts'
import { showMember } from '../../state/open.ts'
import { promptAgain } from '../../state/prompt-again.ts'
import { scoreLabel } from '../../state/rank.ts'
import { headName } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { KeptLine } from '../corpus/kept-line.tsx'
import { PatternPanel } from '../pattern/pattern-panel.tsx'
import { ChangeTable } from './change-table.tsx'
import { curvesOf, onsetText, type Step, scoredOf, stepNumber, unlikeOf } from './curves.ts'
import { SeriesChart, seriesOption } from './series-chart.tsx'
import { StepSlider } from './step-slider.tsx'

const THRESHOLD = 0.5

export function SeriesView() {
  const model = useModel()
  const library = useLibrary()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data || !library.data) return <Waiting text="Opening the checkpoint…" />
  const members = membersOf(model.data, library.data.models)
  if (members.length < 2)
    return (
      <Empty title={`${model.data.name} belongs to no training series`}>
        <p>
          A series is a folder of checkpoints saved during training (step0, step512, …). Open one of them, or
          the bundled induction-2l, to see when its heads appeared.
        </p>
      </Empty>
    )
  return <Series model={model.data} members={members} />
}

function membersOf(
  model: OpenedModel,
  known: readonly LibraryModel[],
): readonly { at: string; path: string }[] {
  if (model.series.length > 0) return model.series
  return known.find((m) => m.path === model.path)?.series ?? []
}

function Series({
  model,
  members,
}: {
  model: OpenedModel
  members: readonly { at: string; path: string }[]
}) {
  const score = useSelection((s) => s.score)
  const [axis, setAxis] = useTool<'log' | 'linear'>('axis', 'log')
  const [wanted, setWanted] = useTool<'four' | 'all'>('series-scores', 'four')
  const run = useRun().data
  const scans = useQueries({
    queries: members.map(({ path }) => ({ queryKey: ['scan', path], queryFn: () => api.scan(path) })),
    combine: (results) => ({
      found: results.map((q) => q.data ?? null),
      pending: results.some((q) => q.isPending),
      // A member that cannot be opened is named, and the others go on.
      broken: results.flatMap((q, i) => (q.error ? [{ at: members[i]!.at, problem: q.error.message }] : [])),
    }),
  })
  const { found } = scans
  const steps = useMemo(
    () =>
      members.map(({ at, path }, i): Step => ({ at, path, step: stepNumber(at, i), scan: found[i] ?? null })),
    [members, found],
  )
  const broken = new Set(scans.broken.map((one) => one.at))
  const unlike = unlikeOf(steps)
  const few = wanted === 'all' ? steps.filter((s) => s.scan && !hasAll(s)) : []
  const lacks = new Set([...steps.filter((s) => !s.scan), ...unlike, ...few].map((s) => s.at))
  const missing = steps.filter((s) => lacks.has(s.at) && !broken.has(s.at))
  const work = useShown('series', null)
  const running = work?.state === 'running'
  const scanAll = () =>
    void startWork(
      'series',
      { model: model.path, ...(wanted === 'all' ? { scores: ['all'] } : {}) },
      `Scoring the steps of ${model.name}`,
      (cells) => {
        for (const { path } of cells as readonly { path: string }[])
          void queryClient.invalidateQueries({ queryKey: ['scan', path] })
      },
    )
  const curves = useMemo(() => curvesOf(steps, score), [steps, score])
  const scored = useMemo(() => scoredOf(steps), [steps])
  const passed = useMemo(() => onsetOf(scored, score, THRESHOLD), [scored, score])
  const drop = useMemo(() => lossDropOf(scored), [scored])
  const indexOf = (name: string | null) => (name === null ? -1 : steps.findIndex((s) => s.at === name))
  const onset = passed.at === null ? null : indexOf(passed.at)
  const [earliest, latest] = [indexOf(passed.earliest), indexOf(passed.latest)]
  const range = useMemo(
    () => (earliest >= 0 && latest > earliest ? ([earliest, latest] as const) : null),
    [earliest, latest],
  )
  // A score is drawn where a step has it; the others are gaps.
  const names = [...new Set([...steps.flatMap((s) => Object.keys(s.scan?.heads[0]?.scores ?? {})), score])]
  const member = steps.findIndex((s) => s.path === model.path)
  const at = member < 0 ? steps.length - 1 : member // the series' own folder holds its last step
  const move = useMutation({
    mutationFn: async (index: number) => showMember(steps[index]!.path, run ? await promptAgain(run) : null),
  })
  const reading = scans.pending
  const head = useSelection((s) => s.head)
  const scanned = steps.find((s) => s.scan)?.scan
  const figure = (): Figure => ({
    title: `${scoreLabel(score)} of every head over training`,
    note: `One line a head; ${head ? `orange: ${headName(head)}; ` : ''}dotted: loss on the second copy (right axis). Steps on a ${axis} axis; vertical: the shown step, dashed: the onset at ${THRESHOLD}.`,
    ofModel: true,
    facts: scanned ? [scanned.definitions[score] ?? '', scanLine(scanned.settings)] : [],
    body: () => {
      const drawn = { steps, curves, axis, at, onset, range, label: scoreLabel(score) }
      return chartFigure((c) => seriesOption({ ...drawn, selected: head }, c), 760, 420)
    },
    table: () => ({
      columns: ['step', 'head', 'score', 'value', 'low', 'high', 'n'],
      rows: steps.flatMap((s) =>
        (s.scan?.heads ?? []).map((h) => {
          const of = h.scores[score]
          return [
            s.at,
            headName(h),
            score,
            of?.value ?? null,
            of?.low ?? null,
            of?.high ?? null,
            of?.n ?? null,
          ]
        }),
      ),
    }),
    reproduce: {
      kind: 'series',
      request: {
        model: model.path,
        ...(scanned?.settings.seed == null ? {} : { seed: scanned.settings.seed }),
      },
    },
  })

  return (
    <div className="view series-view">
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>score</span>
          <Choice
            label="Score of the curves"
            value={score}
            options={names.map((name) => ({ value: name, label: scoreLabel(name) }))}
            onChange={(next) => select({ score: next })}
          />
        </span>
        <Segmented
          label="Step axis"
          value={axis}
          options={[
            { value: 'log', label: 'Log steps' },
            { value: 'linear', label: 'Linear' },
          ]}
          onChange={setAxis}
        />
        <label
          className="field"
          title="All scores of the engine: weights, copying, entropy and more; takes longer"
        >
          <input
            type="checkbox"
            checked={wanted === 'all'}
            onChange={(event) => setWanted(event.target.checked ? 'all' : 'four')}
          />
          every score
        </label>
        <StepSlider steps={steps} at={at} onMove={(i) => move.mutateAsync(i)} />
        {(missing.length > 0 || running) && !reading && (
          <button
            type="button"
            className="button small primary"
            onClick={() => (running ? cancelWork('series') : scanAll())}
          >
            {running
              ? 'Cancel'
              : `Score ${missing.length} of ${steps.length} steps${wanted === 'all' ? ' with every score' : ''}`}
          </button>
        )}
        {(work?.problem ?? move.error) && (
          <span className="problem" role="alert">
            {work?.problem ?? move.error?.message}
          </span>
        )}
      </div>
      <div className="series-body">
        <section className="series-chart" aria-label="Curves">
          <h3 className="pane-title">
            {scoreLabel(score)} of every head
            {scored.length > 0 && <FigureMenu figure={figure} name="the curves" />}
          </h3>
          {scored.length > 0 && (
            <p className="muted small-text series-onset">
              {scored.length < steps.length && `of ${scored.length} scored steps: `}
              {onsetText(passed)}
              {drop && drop.nats > 0 && (
                <>
                  {' '}
                  · loss on the second copy falls most from {drop.from} to {drop.to}: {drop.nats.toFixed(2)}{' '}
                  nats
                </>
              )}
            </p>
          )}
          {work?.reply && <KeptLine id={work.reply.experiment} model={null} />}
          {scans.broken.map(({ at: name, problem }) => (
            <p key={name} className="warning small-text">
              {name} is left out: {problem}
            </p>
          ))}
          {unlike.length > 0 && (
            <p className="warning small-text">
              {unlike.map((s) => s.at).join(', ')} {unlike.length === 1 ? 'was' : 'were'} scored on other
              random tokens than the rest; score again to compare.
            </p>
          )}
          {scored.length === 0 && !reading ? (
            <Empty title="No step is scored yet">
              <p>
                Scores the heads of each checkpoint on the same repeated random tokens; the curves fill in.
              </p>
            </Empty>
          ) : (
            <SeriesChart
              steps={steps}
              curves={curves}
              axis={axis}
              at={at}
              onset={onset}
              range={range}
              label={scoreLabel(score)}
              onMove={(i) => move.mutate(i)}
            />
          )}
        </section>
        <div className="series-pattern">
          <PatternPanel compact />
        </div>
        <ChangeTable steps={steps} at={at} score={score} />
      </div>
    </div>
  )
}

/** A scan of every score holds one that the four defaults do not have. */
function hasAll({ scan }: Step): boolean {
  return scan?.heads[0]?.scores.copying !== undefined
}
