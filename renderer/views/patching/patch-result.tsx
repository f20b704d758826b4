/** The heatmap of a patching sweep, live or stored, with its strongest cells and one cell as a run of its own. */
import { useCallback, useMemo } from 'react'
import type { OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { PatchCell } from '../../../core/intervene/types.ts'
import { effectBody } from '../../charts/effect-figure.ts'
import { EffectGrid } from '../../charts/effect-grid.tsx'
import type { Figure } from '../../charts/figure.ts'
import { addEdit } from '../../state/edit-history.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { metricText, tokenNames } from '../../state/metric.ts'
import { runOn } from '../../state/open.ts'
import { decoderEdits, ownIds } from '../../state/prompt-of.ts'
import { select, setHover, toggleQuery, useHover, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { SignedLegend } from '../pattern/legend.tsx'
import { aboutSweep, rounded } from '../sweeps/about-sweep.ts'
import { CellReadOut } from '../sweeps/cell-read-out.tsx'
import { cellGrid, columnOf, type Place, pickedCell } from '../sweeps/cells.ts'
import { OtherCheckpoint, OtherPrompt } from '../sweeps/elsewhere.tsx'
import { StrongestCells } from '../sweeps/strongest-cells.tsx'
import { SweepFrame } from '../sweeps/sweep-frame.tsx'
import { TwoPredictions } from '../sweeps/two-predictions.tsx'
import { useOverCell } from '../sweeps/use-over-cell.ts'
import { type ShownSweep, useSweep } from '../sweeps/use-sweep.ts'
import { patchEdit } from './patch-edit.ts'
import { sourceFacts, useSourceIds } from './source-of.ts'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  /** The corrupt prompt as it is written now. */
  readonly corrupt: readonly TokenView[]
  /** Tokens that the metric may name beside those of the prompts. */
  readonly likely: readonly TokenView[]
}

export function PatchResult(props: Props) {
  const { model } = props
  const [chosen] = useTool<string>('patch', '')
  const sweep = useSweep('patch', chosen, model)
  if (sweep?.here) return <Result {...props} sweep={sweep} />
  return (
    <Empty title="Nothing patched yet">
      <p>
        Each cell is one run: the value of the clean prompt put into the corrupt one at that place. Blue cells
        bring the answer back.
      </p>
      <OtherCheckpoint sweep={sweep} />
    </Empty>
  )
}

function Result({ model, run, corrupt, likely, sweep }: Props & { sweep: ShownSweep<'patch'> }) {
  const { request, cells, prompts, planned, result: ends } = sweep
  const [measure, setMeasure] = useTool<'normalised' | 'raw'>('measure', 'normalised')
  const [place, setPlace] = useTool<string>('cell', '')
  const [at, overCell] = useOverCell()
  const theme = useTheme()
  const over = useHover()
  const { spec } = model
  const by = request.by ?? 'layer,pos'
  const noise = request.direction === 'noise'
  const patched = noise ? request.clean : request.corrupt
  const given = noise ? request.corrupt : request.clean
  // A stored one may have been given as texts: its tokens say what ran.
  const idsOf = (prompt: PromptInput, side: 0 | 1) => prompts[side]?.map((view) => view.id) ?? ownIds(prompt)
  const ids = idsOf(patched, noise ? 0 : 1)
  const from = idsOf(given, noise ? 1 : 0)
  const crosses = model.spec.encoder !== undefined
  const source = useSourceIds(model, crosses ? patched : null)
  const fromSource = useSourceIds(model, crosses ? given : null)
  const grouped = spec.n_kv_heads < spec.n_heads
  const columns =
    by === 'layer,pos'
      ? ids.length
      : grouped && (request.site === 'k' || request.site === 'v')
        ? spec.n_kv_heads
        : spec.n_heads
  const base = ends ? (request.direction === 'noise' ? ends.clean : ends.corrupt) : null
  const read = useCallback(
    (cell: PatchCell) =>
      measure === 'normalised'
        ? cell.normalized
        : cell.value === null || base === null
          ? cell.value
          : cell.value - base,
    [measure, base],
  )
  const grid = useMemo(() => cellGrid(cells, columns, read), [cells, columns, read])
  const most = measure === 'normalised' ? Math.max(1, grid.most) : grid.most
  const selected = pickedCell(place)
  const metric = metricText(
    request.metric,
    tokenNames([...prompts.flat(), ...likely, ...run.predictions.flatMap((p) => p.topTokens)]),
  )
  const tokens = prompts[request.direction === 'noise' ? 0 : 1]
  const label = (column: number) => (by === 'layer,head' ? 'H' : (tokens?.[column]?.text ?? ''))
  const title = `patching ${request.site} by ${by}, ${request.direction ?? 'denoise'}`
  // Under grouped keys and values a cell is a key/value head: the query heads that read it are named.
  const shared = (layer: number, column: number) =>
    `L${layer} K/V ${column}: ${readersOf(column, spec)
      .map((head) => `H${head}`)
      .join(' ')}`
  const byGroup = by === 'layer,head' && grouped && (request.site === 'k' || request.site === 'v')
  const placeName = ({ layer, column }: Place) =>
    by === 'layer,head'
      ? byGroup
        ? shared(layer, column)
        : `L${layer}H${column}${request.site.startsWith('cross') ? ' cross' : ''}`
      : `L${layer} · ${column} ${tokens?.[column]?.text ?? ''}`
  const name = (cell: PatchCell) => placeName({ layer: cell.layer, column: columnOf(cell) })
  const pick = (layer: number, column: number) => {
    setPlace(place === `${layer}.${column}` ? '' : `${layer}.${column}`)
    if (by === 'layer,head' && layer < spec.n_layers && column < columns)
      select({ head: { layer, head: byGroup ? readersOf(column, spec)[0]! : column } })
  }
  const says =
    measure === 'normalised'
      ? '0: as corrupt, 1: as clean; never clipped'
      : `change of the ${request.metric.kind.replace('_', ' ')}`
  const about = aboutSweep(
    model,
    request.metric,
    measure === 'normalised'
      ? '(patched − corrupt) / (clean − corrupt) of the metric: 0 is as corrupt, 1 is as clean; it is not clipped.'
      : `Metric of the patched run minus that of the ${noise ? 'clean' : 'corrupt'} run.`,
    [ends ? `clean ${rounded(ends.clean, 5)}, corrupt ${rounded(ends.corrupt, 5)}` : '', ...sweep.warnings],
  )
  const cell = selected ? grid.cell(selected.layer, selected.column) : undefined
  const figure = (): Figure => ({
    title,
    note: `${metric}. Rows are layers, columns ${by === 'layer,head' ? 'heads' : 'positions'}; ${says}.`,
    source: {
      checkpoints: [{ name: model.name, hash: model.contentHash }],
      run: null,
    },
    facts: [
      ...prompts.map(
        (views, i) => `${i === 0 ? 'clean' : 'corrupt'} “${views.map((view) => view.text).join('')}”`,
      ),
      ...sourceFacts(request),
      ends
        ? `metric of the clean prompt ${rounded(ends.clean, 5)}, of the corrupt one ${rounded(ends.corrupt, 5)}`
        : '',
      `${cells.length} of ${planned} cells`,
    ],
    body: () =>
      effectBody({
        layers: spec.n_layers,
        columns,
        value: grid.value,
        most,
        columnLabel: (i) => `${label(i)}${by === 'layer,head' ? '' : ' '}${i}`,
      }),
    table: () => ({
      columns: ['layer', by === 'layer,head' ? 'head' : 'position', 'token', 'value', 'normalized'],
      rows: cells.map((c) => [
        c.layer,
        columnOf(c),
        by === 'layer,head' ? null : (tokens?.[columnOf(c)]?.text ?? ''),
        c.value,
        c.normalized,
      ]),
    }),
    reproduce: { kind: 'patch', request },
  })
  // Where a decoder reads an encoder, the values come from a run of both texts into one of both texts.
  const prompt: PromptInput | null = crosses ? source && { ids: source, decoder: { ids } } : { ids }
  const values = crosses ? fromSource && { ids: fromSource, decoder_ids: from } : { ids: from }
  const edit = selected && values ? patchEdit(request.site, by, selected, values, grouped) : null

  return (
    <SweepFrame
      sweep={sweep}
      title={request.site.replace('_', ' ')}
      note={`${metric}${ends ? ` · clean ${rounded(ends.clean)}, corrupt ${rounded(ends.corrupt)}` : ''}`}
      about={about}
      called={title}
      figure={figure}
      tools={
        <Segmented
          label="What a cell shows"
          value={measure}
          options={[
            { value: 'normalised', label: 'Normalised' },
            { value: 'raw', label: 'Raw' },
          ]}
          onChange={setMeasure}
        />
      }
      side={
        <>
          {selected && edit && prompt && (
            <section aria-label="The cell" title={about}>
              <h3 className="pane-title">
                {cell ? name(cell) : `L${selected.layer} · ${selected.column}`}
                <span>
                  {cell
                    ? `${request.metric.kind.replace('_', ' ')} ${cell.value === null ? (cell.why ?? 'undefined') : preciseWeight(cell.value)}`
                    : 'not computed'}
                </span>
              </h3>
              <TwoPredictions
                model={model}
                prompt={prompt}
                edits={crosses ? decoderEdits([edit]) : [edit]}
                pos={request.metric.pos ?? ids.length - 1}
                names={[request.direction === 'noise' ? 'clean' : 'corrupt', 'patched here']}
              />
              <p className="button-row">
                <button
                  type="button"
                  className="button small"
                  title="Opens the patched prompt with this patch as an active edit: every view shows it before and after"
                  onClick={() =>
                    void runOn(model, prompt).then(() => {
                      addEdit(edit)
                      select({ tab: 'pattern', compare: 'both' })
                    })
                  }
                >
                  Open this run
                </button>
                {by === 'layer,pos' && (
                  <button type="button" className="button small" onClick={() => toggleQuery(selected.column)}>
                    Lock token {selected.column}
                  </button>
                )}
              </p>
            </section>
          )}
          <StrongestCells
            title="Strongest"
            says={says}
            about={about}
            cells={grid.strongest}
            read={read}
            most={most}
            name={name}
            selected={selected}
            onPick={pick}
          />
        </>
      }
    >
      <OtherPrompt sweep={sweep} run={run} corrupt={corrupt} />
      <div className="pattern-figure" title={about}>
        <EffectGrid
          label={title}
          layers={spec.n_layers}
          columns={columns}
          value={grid.value}
          most={most}
          columnLabel={by === 'layer,pos' ? label : null}
          selected={selected}
          hovered={by === 'layer,pos' ? over.query : null}
          theme={theme}
          format={signedWeight}
          onHover={(layer, column) => {
            overCell(layer, column)
            setHover(by === 'layer,pos' ? column : null, null)
          }}
          onPick={pick}
        >
          {cells.length > 0 && <SignedLegend theme={theme} most={most} />}
          <CellReadOut
            name={at && placeName(at)}
            value={at ? grid.value(at.layer, at.column) : undefined}
            more={at ? moreOf(grid.cell(at.layer, at.column)) : ''}
          >
            {says}
          </CellReadOut>
        </EffectGrid>
      </div>
    </SweepFrame>
  )
}

/** The metric of the patched run, or why it has none. */
function moreOf(cell: PatchCell | undefined): string {
  return cell?.why ?? (cell?.value == null ? '' : `metric ${rounded(cell.value)}`)
}

/** Query heads that read one key/value head. */
function readersOf(kv: number, { n_heads, n_kv_heads }: OpenedModel['spec']): number[] {
  const size = n_heads / n_kv_heads
  return Array.from({ length: size }, (_, i) => kv * size + i)
}
