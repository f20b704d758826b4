/** The heads of a relation probe: a grid, and a list by corrected p and size. */
import { useCallback, useMemo } from 'react'
import type { Score } from '../../../core/analysis/types.ts'
import type { OpenedModel, RelationReply, RelationRequest } from '../../../core/api/contract.ts'
import { effectBody } from '../../charts/effect-figure.ts'
import { EffectGrid } from '../../charts/effect-grid.tsx'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { signedWeight } from '../../state/format.ts'
import { headName, sameHead } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { scoreText } from '../../ui/score-text.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { SignedLegend } from '../pattern/legend.tsx'
import { CellReadOut } from '../sweeps/cell-read-out.tsx'
import { cellGrid } from '../sweeps/cells.ts'
import { useOverCell } from '../sweeps/use-over-cell.ts'

type Head = RelationReply['heads'][number]
type Shows = 'difference' | 'won'

const CLEAR = 0.05

interface Props {
  readonly model: OpenedModel
  readonly request: RelationRequest
  readonly report: RelationReply
}

export function RelationResult({ model, request, report }: Props) {
  const theme = useTheme()
  const selected = useSelection((s) => s.head)
  const [shows, setShows] = useTool<Shows>('relation-shows', 'difference')
  const [at, over] = useOverCell()
  // Won shares lie about 0.5: what is above or below it is the sign.
  const read = useCallback(
    (head: Head) =>
      shows === 'difference' ? head.difference.value : head.won === null ? null : head.won - 0.5,
    [shows],
  )
  const grid = useMemo(() => cellGrid(report.heads, model.spec.n_heads, read), [report, model, read])
  const ranked = useMemo(
    () =>
      [...report.heads].sort(
        (a, b) =>
          Number((b.p_holm ?? 1) < CLEAR) - Number((a.p_holm ?? 1) < CLEAR) ||
          Math.abs(b.difference.value ?? 0) - Math.abs(a.difference.value ?? 0),
      ),
    [report],
  )
  const most = shows === 'won' ? 0.5 : grid.most
  const clear = report.heads.filter((head) => (head.p_holm ?? 1) < CLEAR).length
  const figure = (): Figure => ({
    title:
      shows === 'difference'
        ? 'relation probe, mean difference by head'
        : 'relation probe, share won by head',
    note: `Rows are layers, columns heads; colour is ${shows === 'difference' ? 'the weight on the target minus that on the distractor' : 'the share of triples in which the target gets more, minus one half'}.`,
    ofModel: true,
    facts: [
      report.definition,
      `mean over n = ${report.triples} triples; ${clear} heads with corrected p below ${CLEAR}`,
      ...report.warnings,
    ],
    body: () =>
      effectBody({
        layers: model.spec.n_layers,
        columns: model.spec.n_heads,
        value: grid.value,
        most,
        columnLabel: (i) => `H${i}`,
      }),
    table: () => ({
      columns: ['head', 'difference', 'low', 'high', 'wins', 'losses', 'won', 'p', 'p_holm'],
      rows: ranked.map((head) => [
        headName(head),
        head.difference.value,
        head.difference.low,
        head.difference.high,
        head.wins,
        head.losses,
        head.won,
        head.p,
        head.p_holm,
      ]),
    }),
    reproduce: { kind: 'relation', request },
  })
  return (
    <div className="sweep-result relation-result">
      <section className="sweep-main" aria-label="Relation by head">
        <h3 className="pane-title">
          {shows === 'difference' ? 'Weight on target − on distractor' : 'Share of triples won − 0.5'}
          <span title={report.definition}>mean over {report.triples} triples; p is a guide</span>
        </h3>
        <p className="button-row relation-tools">
          <Segmented
            label="What a tile shows"
            value={shows}
            options={[
              { value: 'difference', label: 'mean difference' },
              { value: 'won', label: 'share won' },
            ]}
            onChange={setShows}
          />
          <FigureMenu figure={figure} name="the grid" />
        </p>
        <div className="pattern-figure" title={`${report.definition}\nn = ${report.triples} triples`}>
          <EffectGrid
            label={shows === 'difference' ? 'Mean difference by head' : 'Share won by head'}
            layers={model.spec.n_layers}
            columns={model.spec.n_heads}
            value={grid.value}
            most={most}
            columnLabel={null}
            selected={selected ? { layer: selected.layer, column: selected.head } : null}
            hovered={null}
            theme={theme}
            format={signedWeight}
            onHover={over}
            onPick={(layer, head) => select({ head: { layer, head } })}
          >
            <SignedLegend theme={theme} most={most} />
            <CellReadOut
              name={at && headName({ layer: at.layer, head: at.column })}
              value={at ? grid.value(at.layer, at.column) : undefined}
              more={at ? moreOf(grid.cell(at.layer, at.column)) : ''}
            />
          </EffectGrid>
        </div>
        {report.warnings.map((warning) => (
          <p key={warning} className="warning small-text">
            {warning}
          </p>
        ))}
      </section>
      <section className="sweep-side" aria-label="Heads by relation">
        <h3 className="pane-title">
          Heads{' '}
          <span>
            {clear} with corrected p below {CLEAR}
          </span>
        </h3>
        <div className="relation-line relation-heading" aria-hidden="true">
          <span>head</span>
          <span>difference</span>
          <span />
          <span className="number">won</span>
          <span className="number" title="Two-sided sign test, corrected for the number of heads (Holm)">
            p, corrected
          </span>
        </div>
        <ol className="ranked-list">
          {ranked.slice(0, 300).map((head) => (
            <HeadRow key={headName(head)} head={head} most={grid.most} on={sameHead(selected, head)} />
          ))}
        </ol>
      </section>
    </div>
  )
}

function HeadRow({ head, most, on }: { head: Head; most: number; on: boolean }) {
  const value = head.difference.value ?? 0
  const noise = (head.p_holm ?? 1) >= CLEAR
  return (
    <li>
      <button
        type="button"
        className={`relation-line${on ? ' is-selected' : ''}${noise ? ' is-noise' : ''}`}
        aria-pressed={on}
        title={`difference ${scoreText(head.difference)}; ${head.wins} won, ${head.losses} lost${head.why ? `; ${head.why}` : ''}`}
        onClick={() => select({ head: { layer: head.layer, head: head.head } })}
      >
        <span className="head-name">{headName(head)}</span>
        <span className="signed-interval">
          <SignedBar value={value} most={most} />
          <Whisker score={head.difference} most={most} />
        </span>
        <span className="number">{head.difference.value === null ? '–' : signedWeight(value)}</span>
        <span className="number">{head.won === null ? '–' : `${Math.round(head.won * 100)} %`}</span>
        <span className="number">{pText(head.p_holm)}</span>
      </button>
    </li>
  )
}

/** The interval of a head's mean, and how many triples it won. */
function moreOf(head: Head | undefined): string {
  if (!head) return ''
  const { low, high } = head.difference
  const interval =
    low === null || high === null ? '' : `[${signedWeight(low)}, ${signedWeight(high)}] of the mean; `
  return head.why ?? `${interval}${head.wins} won, ${head.losses} lost`
}

/** The interval of a mean, over its bar: from the middle to both sides. */
function Whisker({ score: { low, high }, most }: { score: Score; most: number }) {
  if (low === null || high === null || most === 0) return null
  const percent = (x: number) => 50 + 50 * Math.min(1, Math.max(-1, x / most))
  return (
    <span
      className="bar-whisker"
      style={{ left: `${percent(low)}%`, width: `${percent(high) - percent(low)}%` }}
    />
  )
}

function pText(p: number | null): string {
  if (p === null) return '–'
  return p < 0.001 ? '< 0.001' : p.toFixed(3)
}
