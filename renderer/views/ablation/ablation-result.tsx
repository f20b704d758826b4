/** The grids of an ablation sweep: total effect, and the direct effect beside it, so that self-repair is seen. */
import { useMutation } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { AblateRequest, OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import type { AblationCell } from '../../../core/intervene/types.ts'
import type { Edit } from '../../../core/run/types.ts'
import { api } from '../../api/client.ts'
import { effectBody } from '../../charts/effect-figure.ts'
import { EffectGrid } from '../../charts/effect-grid.tsx'
import type { Figure } from '../../charts/figure.ts'
import { beside, stacked } from '../../charts/svg.ts'
import { addEdit } from '../../state/edit-history.ts'
import { signedWeight } from '../../state/format.ts'
import { metricText, tokenNames } from '../../state/metric.ts'
import { headName } from '../../state/selection.ts'
import { select, setHover, useHover, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty } from '../../ui/notice.tsx'
import { SignedLegend } from '../pattern/legend.tsx'
import { aboutSweep, rounded } from '../sweeps/about-sweep.ts'
import { CellReadOut } from '../sweeps/cell-read-out.tsx'
import { cellGrid, columnOf, type Place, pickedCell } from '../sweeps/cells.ts'
import { OtherCheckpoint, OtherPrompt } from '../sweeps/elsewhere.tsx'
import { idsOfSweep, isOfRun } from '../sweeps/of-selection.ts'
import { StrongestCells } from '../sweeps/strongest-cells.tsx'
import { SweepFrame } from '../sweeps/sweep-frame.tsx'
import { useOverCell } from '../sweeps/use-over-cell.ts'
import { type ShownSweep, useSweep } from '../sweeps/use-sweep.ts'

const total = (cell: AblationCell) => cell.delta
const direct = (cell: AblationCell) => cell.direct ?? null

export function AblationResult({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [chosen] = useTool<string>('ablation', '')
  const sweep = useSweep('ablate', chosen, model)
  if (sweep?.here) return <Result model={model} run={run} sweep={sweep} />
  return (
    <Empty title="Nothing ablated yet">
      <p>
        Each cell is one run without that part: how much the metric changes. Red: the part was helping. The
        direct effect beside it is what the part itself writes towards the answer; where the two differ,
        others make up for it.
      </p>
      <OtherCheckpoint sweep={sweep} />
    </Empty>
  )
}

interface ResultProps {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly sweep: ShownSweep<'ablate'>
}

function Result({ model, run, sweep }: ResultProps) {
  const { request, cells, planned } = sweep
  const base = sweep.result?.base ?? null
  const [picked, setPicked] = useTool<string>('place', '')
  const [at, overCell] = useOverCell()
  const theme = useTheme()
  const over = useHover()
  const head = useSelection((s) => s.head)
  const { spec } = model
  const byHead = request.over === 'heads' || request.over === 'cross_heads'
  const own = isOfRun(sweep, run)
  const ids = idsOfSweep(sweep, 0)
  const views = sweep.prompts[0] ?? (own ? run.views : [])
  const positions = Math.max(1, ids.length)
  const columns = byHead ? spec.n_heads : request.over === 'positions' ? positions : 1
  const totals = useMemo(() => cellGrid(cells, columns, total), [cells, columns])
  const directs = useMemo(() => cellGrid(cells, columns, direct), [cells, columns])
  const hasDirect = directs.most > 0
  const most = Math.max(totals.most, directs.most)
  const selected = byHead && head ? { layer: head.layer, column: head.head } : pickedCell(picked)
  const label = (column: number) =>
    byHead ? 'H' : request.over === 'positions' ? (views[column]?.text ?? '') : ''
  const pick = (layer: number, column: number) => {
    if (byHead) select({ head: { layer, head: column } })
    else setPicked(`${layer}.${column}`)
  }
  const placeName = ({ layer, column }: Place) =>
    byHead
      ? headName({ layer, head: column })
      : request.over === 'positions'
        ? `L${layer} · ${column} ${views[column]?.text ?? ''}`
        : `L${layer}${request.over === 'mlps' ? ' MLP' : ''}`
  const name = (cell: AblationCell) => placeName({ layer: cell.layer, column: columnOf(cell) })
  const title = `${request.kind} ablation of ${request.over}`
  const metric = metricText(
    request.metric,
    tokenNames([...views, ...run.views, ...run.predictions.flatMap((p) => p.topTokens)]),
  )
  const meanOf = request.meanOver === 'pos' ? 'each position' : 'all positions'
  const from = sweep.result?.settings.reference
  const reference = !from
    ? ''
    : request.kind === 'mean'
      ? `mean over ${meanOf} of ${from.prompts} ${from.prompts === 1 ? 'text' : 'texts'}, n = ${from.positions}`
      : 'values of another prompt'
  const about = aboutSweep(
    model,
    request.metric,
    `Total effect: the metric without the part (${request.kind} in its place) minus the metric of the unedited run${base === null ? '' : `, ${rounded(base, 5)}`}. Direct effect: the same for what the part itself adds to the logits.`,
    [reference, ...sweep.warnings],
  )
  const grids = [
    { grid: totals, name: 'total effect', says: 'red: the metric falls' },
    ...(hasDirect
      ? [
          {
            grid: directs,
            name: 'direct effect',
            says: 'on the direct path alone',
          },
        ]
      : []),
  ]
  const chosen = selected ? totals.cell(selected.layer, selected.column) : undefined
  const figure = (): Figure => ({
    title,
    note: `${metric}. Rows are layers, columns ${byHead ? 'heads' : request.over === 'positions' ? 'positions' : 'the whole layer'}; colour is the change from ${base === null ? 'the unedited run' : rounded(base, 4)} without the part.`,
    ...(own ? {} : { source: { checkpoints: [{ name: model.name, hash: model.contentHash }], run: null } }),
    facts: [
      own
        ? ''
        : views.length > 0
          ? `prompt “${views.map((view) => view.text).join('')}”`
          : `prompt ids ${ids.join(', ')}`,
      `${cells.length} of ${planned} cells`,
      reference,
      ...grids.map(({ name: which, says }) => `${which}: ${says}`),
    ],
    body: () => {
      const drawn = grids.map(({ grid, name: which }) => ({
        title: which,
        body: effectBody({
          layers: spec.n_layers,
          columns,
          value: grid.value,
          most,
          columnLabel: (i) => `${label(i)}${byHead ? '' : ' '}${i}`,
        }),
      }))
      return columns > 24 ? stacked(drawn.map((one) => beside([one]))) : beside(drawn)
    },
    table: () => ({
      columns: ['layer', byHead ? 'head' : 'position', 'value', 'delta', 'direct'],
      rows: cells.map((c) => [c.layer, columnOf(c), c.value, c.delta, c.direct ?? null]),
    }),
    reproduce: { kind: 'ablate', request },
  })
  return (
    <SweepFrame
      sweep={sweep}
      title={title}
      note={`${metric}${base === null ? '' : ` · unedited ${rounded(base, 4)}`}`}
      about={about}
      called={title}
      figure={figure}
      side={
        <>
          {chosen && (
            <section aria-label="The part">
              <h3 className="pane-title">{name(chosen)}</h3>
              <dl className="facts" title={about}>
                <div>
                  <dt>total</dt>
                  <dd>{chosen.delta === null ? (chosen.why ?? 'undefined') : signedWeight(chosen.delta)}</dd>
                </div>
                {chosen.direct != null && chosen.delta !== null && (
                  <>
                    <div>
                      <dt>direct</dt>
                      <dd>{signedWeight(chosen.direct)}</dd>
                    </div>
                    <div title="Total minus direct: what later parts add (self-repair has the opposite sign of direct).">
                      <dt>through others</dt>
                      <dd>{signedWeight(chosen.delta - chosen.direct)}</dd>
                    </div>
                  </>
                )}
              </dl>
              <PartEdit model={model} request={request} cell={chosen} />
            </section>
          )}
          <StrongestCells
            title="Strongest"
            says="total effect"
            about={about}
            cells={totals.strongest}
            read={total}
            most={totals.most}
            name={name}
            selected={selected}
            onPick={pick}
          />
        </>
      }
    >
      <OtherPrompt sweep={sweep} run={run} />
      {reference !== '' && <p className="muted small-text">{reference}</p>}
      <div className={byHead || columns === 1 ? 'effect-pair' : 'effect-pair is-stacked'}>
        {grids.map(({ grid, name: which, says }) => (
          <figure key={which} className="pattern-figure" title={about}>
            <figcaption>{which}</figcaption>
            <EffectGrid
              label={`${title}, ${which}`}
              layers={spec.n_layers}
              columns={columns}
              value={grid.value}
              most={most}
              columnLabel={request.over === 'positions' ? label : null}
              selected={selected}
              hovered={request.over === 'positions' ? over.query : null}
              theme={theme}
              format={signedWeight}
              onHover={(layer, column) => {
                overCell(layer, column)
                setHover(request.over === 'positions' ? column : null, null)
              }}
              onPick={pick}
            >
              {cells.length > 0 && <SignedLegend theme={theme} most={most} />}
              <CellReadOut
                name={at && placeName(at)}
                value={at ? grid.value(at.layer, at.column) : undefined}
                more={at ? (totals.cell(at.layer, at.column)?.why ?? '') : ''}
              >
                {says}
              </CellReadOut>
            </EffectGrid>
          </figure>
        ))}
      </div>
    </SweepFrame>
  )
}

/** The part that is looked at as an edit of the selected prompt: zeroed, or as on the other prompt. */
function PartEdit({
  model,
  request,
  cell,
}: {
  readonly model: OpenedModel
  readonly request: AblateRequest
  readonly cell: AblationCell
}) {
  const make = useMutation({
    mutationFn: async () => {
      const what = await replacement(model, request)
      for (const edit of editsOf(request.over, cell, model.spec.encoder !== undefined, what)) addEdit(edit)
    },
  })
  return (
    <>
      <button
        type="button"
        className="button small"
        title="Every view then shows the prompt with and without it"
        disabled={make.isPending}
        onClick={() => make.mutate()}
      >
        Make it an active edit
      </button>
      {make.isError && (
        <p className="problem" role="alert">
          {make.error.message}
        </p>
      )}
    </>
  )
}

type Replacement = Pick<Edit, 'op' | 'from'>

async function replacement(model: OpenedModel, request: AblateRequest): Promise<Replacement> {
  const { kind, reference = [], meanOver } = request
  if (kind === 'zero') return { op: 'zero' }
  const prompts = await Promise.all(reference.map((one) => idsOf(model, request.prompt, one)))
  if (kind === 'resample') return { op: 'set', from: prompts[0]! }
  return { op: 'set', from: { mean: prompts, ...(meanOver ? { over: meanOver } : {}) } }
}

/** A reference as ids; of an encoder–decoder it is the decoder's own text, beside the prompt's source. */
async function idsOf(
  model: OpenedModel,
  prompt: PromptInput,
  { ids, text = '', bos = 'auto', decoder }: PromptInput,
): Promise<{ readonly ids: readonly number[]; readonly decoder_ids?: readonly number[] }> {
  const read = async (asked: { text: string; bos: 'auto' | 'yes' | 'no'; decoder?: true }) =>
    (await api.tokenize({ model: model.path, ...asked })).tokens.map((token) => token.id)
  if (!model.spec.encoder) return { ids: ids ?? (await read({ text, bos })) }
  const source = prompt.ids ?? (await read({ text: prompt.text ?? '', bos: prompt.bos ?? 'auto' }))
  const own = decoder ? decoder.ids : ids
  return {
    ids: source,
    decoder_ids: own ?? (await read({ text: decoder?.text ?? text, bos: 'auto', decoder: true })),
  }
}

/** A layer is two edits: what its attention and its MLP add. */
function editsOf(
  over: AblateRequest['over'],
  cell: AblationCell,
  crosses: boolean,
  what: Replacement,
): Edit[] {
  const block = `blocks.${cell.layer}`
  const where = cell.pos === undefined ? {} : { pos: cell.pos }
  if (over === 'heads') return [{ hook: `${block}.attn.hook_z`, head: cell.head ?? 0, ...what }]
  if (over === 'cross_heads') return [{ hook: `${block}.cross_attn.hook_z`, head: cell.head ?? 0, ...what }]
  const mlp: Edit = { hook: `${block}.hook_mlp_out`, ...where, ...what }
  if (over === 'mlps') return [mlp]
  const written = ['hook_attn_out', ...(crosses ? ['hook_cross_attn_out'] : [])]
  return [...written.map((name): Edit => ({ hook: `${block}.${name}`, ...where, ...what })), mlp]
}
