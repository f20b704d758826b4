/**
 * The selected head from first principles, on the current prompt: every step as a real matrix, each with its formula; one
 * open in large; what is changed in it and the exact effect; what its sources write, how sharp it is, how it learns.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type {
  BenchEditReply,
  BenchHeadInput,
  BenchReply,
  GridReply,
  OpenedModel,
  RunDetail,
} from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { rowOf } from '../../api/pattern.ts'
import { useModel, usePattern, useRun } from '../../api/queries.ts'
import { useTextPattern } from '../../api/two-texts.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { setTool, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { aboutRun } from '../sweeps/about-sweep.ts'
import { useGivenTokens } from '../sweeps/given-tokens.ts'
import '../../ui/bench.css'
import { changesOf } from './changes.ts'
import { Accounting, Basis } from './checks.tsx'
import { EditBar } from './edit-bar.tsx'
import { Effect } from './effect.tsx'
import { Gradients } from './gradients.tsx'
import { OpenStep } from './open-step.tsx'
import { SOURCE_KEY } from './pick.ts'
import { Reach } from './reach.tsx'
import { Sharpness } from './sharpness.tsx'
import { Sources } from './sources.tsx'
import { stagesOf } from './stages.ts'
import { StepStrip } from './step-strip.tsx'

export function BenchView() {
  const model = useModel()
  const run = useRun()
  const head = useSelection((s) => s.head)
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt above: then a head is taken apart, from the residual stream to what it writes.</p>
      </Empty>
    )
  if (!head)
    return (
      <Empty title="No head yet">
        <p>Choose a head under Heads: it is taken apart here, step by step.</p>
      </Empty>
    )
  return <Bench key={run.data.id} model={model.data} run={run.data} head={head} />
}

function Bench({ model, run, head }: { model: OpenedModel; run: RunDetail; head: HeadId }) {
  const length = run.views.length
  const [attention, setAttention] = useTool<'own' | 'source'>('bench_at', 'own')
  const cross = attention === 'source' && run.source !== undefined
  const keys = cross ? run.source!.length : length
  const tool = useSelection((s) => s.tool)
  const locked = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const [sourceKey] = useTool<string>(SOURCE_KEY, '')
  const query = locked !== null && locked < length ? locked : length - 1
  const shown = usePattern(run.id, head)
  const overSource = useTextPattern(run.id, 'cross', cross ? head : null)
  const pattern = sameHead(shown.data ?? null, head) ? shown.data!.pattern : null
  const strongest = useMemo(() => {
    if (cross) return overSource.data ? mostAttended(gridRow(overSource.data, query)) : null
    return pattern ? mostAttended(rowOf(pattern, query)) : null
  }, [cross, overSource.data, pattern, query])
  const looked = cross ? (sourceKey === '' ? null : Number(sourceKey)) : lockedKey
  const chosen = looked !== null && looked < keys ? looked : strongest
  // A run that keeps no pattern has none to choose from.
  const keyAt = chosen ?? (shown.isError || overSource.isError ? 0 : null)
  const given = useGivenTokens(model)
  const answer = given.answer ?? run.predictions[query]?.topTokens[0] ?? null
  const place = { model: model.path, prompt: promptOf(run), ...head, ...(cross ? { cross } : {}) }
  const bench = useQuery({
    queryKey: ['bench', model.path, run.id, head.layer, head.head, cross, query, keyAt, answer?.id],
    queryFn: ({ signal }) =>
      api.benchHead({ ...place, query, key: keyAt!, ...(answer ? { answer: answer.id } : {}) }, signal),
    enabled: keyAt !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  const changes = changesOf(tool, length, cross ? keys : null)
  const edit = useQuery({
    queryKey: ['bench-edit', model.path, run.id, head.layer, head.head, cross, changes],
    queryFn: ({ signal }) => api.benchEdit({ ...place, ...changes! }, signal),
    enabled: changes !== null,
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (bench.isError) return <Failed error={bench.error} retry={() => void bench.refetch()} />
  if (!bench.data) return <Waiting text={`Taking ${headName(head)} apart…`} />
  return (
    <Machine
      model={model}
      run={run}
      place={place}
      bench={bench.data}
      changed={changes !== null}
      late={bench.isPlaceholderData || (changes !== null && edit.isPlaceholderData)}
      edit={changes === null ? null : (edit.data ?? null)}
      attention={run.source ? (cross ? 'source' : 'own') : null}
      onAttention={(next) => {
        setAttention(next)
        setTool('bench_typed', '') // what was typed belongs to the other attention
      }}
      problem={changes !== null && edit.isError ? edit.error.message : null}
      answer={answer?.text ?? null}
    />
  )
}

function mostAttended(row: ArrayLike<number>): number {
  return Array.from(row).reduce((best, weight, key) => (weight > row[best]! ? key : best), 0)
}

function gridRow({ shape, values }: GridReply, row: number): number[] {
  return values.slice(row * shape[1], (row + 1) * shape[1]).map((value) => value ?? 0)
}

type Panel = 'effect' | 'sources' | 'sharpness' | 'reach' | 'gradients' | 'basis' | 'counts'

const PANELS: readonly { readonly value: Panel; readonly label: string; readonly says: string }[] = [
  {
    value: 'effect',
    label: 'Effect of the changes',
    says: 'What the changes do to every later step and to what the model then says; each is an exact run.',
  },
  {
    value: 'sources',
    label: 'Source contributions',
    says: 'α_j v_j W_O: what each source writes into this query through the head. Its norm, its cosine with the whole update of the head, what it adds to the logit of the answer.',
  },
  {
    value: 'sharpness',
    label: 'Sharpness, ranks, loss',
    says: 'Measured variance of the scores (independent unit coordinates would give d_k), ranks of the maps, entropy of each row in nats and as a share of the largest, its largest weight, the loss there.',
  },
  {
    value: 'reach',
    label: 'Reach of a score',
    says: '|∂o/∂s_j| against α_j: how far the output moves with one score while the others keep their ratios.',
  },
  {
    value: 'gradients',
    label: 'Routing gradients, nudge',
    says: 'β_j = ∂L/∂s_j = α_j g·(v_j − o), with g = ∂L/∂o; the β of a row sum to 0.',
  },
  {
    value: 'basis',
    label: 'Basis check',
    says: 'q → B q with k → B⁻ᵀ k leaves every score as it is: only the product of query and key is identified. The numbers are the largest errors.',
  },
  {
    value: 'counts',
    label: 'Parameters, memory',
    says: 'Entries of the weight matrices by the shapes of the config; biases and norms apart.',
  },
]

interface MachineProps {
  readonly model: OpenedModel
  readonly run: RunDetail
  /** The head, as a request. */
  readonly place: BenchHeadInput
  readonly bench: BenchReply
  readonly changed: boolean
  /** What is shown is of the head or the changes before: the next is on its way. */
  readonly late: boolean
  readonly edit: BenchEditReply | null
  /** Which attention of the decoder; null: there is one. */
  readonly attention: 'own' | 'source' | null
  readonly onAttention: (next: 'own' | 'source') => void
  readonly problem: string | null
  readonly answer: string | null
}

function Machine(props: MachineProps) {
  const { model, run, place, bench, changed, late, edit, attention, problem, answer } = props
  const theme = useTheme()
  const [layout, setLayout] = useTool<'app' | 'lecture'>('bench_layout', 'app')
  const [name, setName] = useTool<string>('bench_step', 'weights')
  const [side, setSide] = useTool<string>('bench_side', '')
  const stages = useMemo(() => stagesOf(bench.steps, edit, layout === 'lecture'), [bench.steps, edit, layout])
  const open = Math.max(
    0,
    stages.findIndex((stage) => stage.name === name),
  )
  // Until a panel is chosen, a change shows its effect at once.
  const panel = PANELS.find(({ value }) => value === side)?.value ?? (changed ? 'effect' : 'sources')
  const about = aboutRun(model, PANELS.find(({ value }) => value === panel)!.says, [
    `${headName(place)}, query ${bench.query}`,
    ...(changed ? ['with the changes that were typed'] : []),
  ])
  const scores = bench.steps.find((step) => step.name === 'masked scores')!
  return (
    <div className={late ? 'view sweep-view is-late' : 'view sweep-view'} aria-busy={late}>
      <div className="toolbar is-wrapping bench-toolbar">
        {attention && (
          <Segmented
            label="Attention"
            value={attention}
            options={[
              { value: 'own', label: 'own text' },
              { value: 'source', label: 'source' },
            ]}
            onChange={props.onAttention}
          />
        )}
        <Segmented
          label="Layout"
          value={layout}
          options={[
            { value: 'app', label: 'rows are queries' },
            { value: 'lecture', label: 'lecture layout' },
          ]}
          onChange={setLayout}
        />
        <EditBar bench={bench} scores={scores} cross={attention === 'source'} />
      </div>
      <StepStrip
        stages={stages}
        open={open}
        theme={theme}
        changed={edit !== null}
        onOpen={(index) => setName(stages[index]!.name)}
      />
      <div className="sweep-result bench-result">
        <OpenStep
          key={stages[open]!.name}
          stage={stages[open]!}
          bench={bench}
          place={place}
          lecture={layout === 'lecture'}
        />
        <aside className="sweep-side bench-side">
          <Choice label="What is shown beside the step" value={panel} options={PANELS} onChange={setSide} />
          {problem && (
            <p className="problem" role="alert">
              {problem}
            </p>
          )}
          <div className="bench-panel" title={about}>
            {panel === 'effect' &&
              (edit ? (
                <Effect edit={edit} steps={bench.steps} query={bench.query} />
              ) : (
                <p className="muted small-text">
                  {changed
                    ? 'Running the changed head…'
                    : 'Click a number of any step and type another, move the temperature, drop the mask or √d_k: what every later step and the model then say stands here.'}
                </p>
              ))}
            {panel === 'sources' && <Sources bench={bench} place={place} answer={answer} />}
            {panel === 'sharpness' && <Sharpness bench={bench} />}
            {panel === 'reach' && <Reach bench={bench} place={place} />}
            {panel === 'gradients' && <Gradients model={model} run={run} place={place} bench={bench} />}
            {panel === 'basis' && <Basis run={run} place={place} />}
            {panel === 'counts' && <Accounting model={model} />}
          </div>
        </aside>
      </div>
    </div>
  )
}
