/** One step in large, with the number under the pointer; before, with the changes, or their difference. */
import { useMemo, useState } from 'react'
import type { BenchHeadInput, BenchReply } from '../../../core/api/contract.ts'
import { rampGradient, signedGradient } from '../../charts/color.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight } from '../../state/format.ts'
import { headName } from '../../state/selection.ts'
import { useHover } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { difference, extent } from './matrix.ts'
import { matrixBody } from './matrix-figure.ts'
import { type Cell, MatrixGrid } from './matrix-grid.tsx'
import { hoverPair, pickPair } from './pick.ts'
import { countsTokens, type Stage } from './stages.ts'
import { TypeCell } from './type-cell.tsx'

type Shown = 'before' | 'changed' | 'difference'

interface Props {
  readonly stage: Stage
  readonly bench: BenchReply
  /** The head, as a request. */
  readonly place: BenchHeadInput
  /** States are columns: the first index of a cell is its column. */
  readonly lecture: boolean
}

export function OpenStep({ stage, bench, place: head, lecture }: Props) {
  const theme = useTheme()
  const [shown, setShown] = useState<Shown>('changed')
  const [cell, setCell] = useState<Cell | null>(null)
  const [picked, setPicked] = useState<Cell | null>(null)
  const over = useHover()
  const { after, before, axes } = stage
  const delta = useMemo(() => (after ? difference(after, before) : null), [after, before])
  const view = after === null ? 'before' : shown
  const grid = view === 'difference' ? delta! : view === 'changed' ? after! : before
  const scale = view === 'difference' ? 'signed' : stage.scale
  const range = useMemo(
    () => (view === 'difference' ? extent(grid.values) : { end: stage.end, largest: stage.largest }),
    [view, grid, stage],
  )
  const square = axes.some(isQuery) && axes.some(isKey)
  // Rows over a source are no queries: what is hovered there is a key.
  const keyRows = !square && axes.some(isKey)
  const views = (axis: string) => (isKey(axis) ? bench.key_tokens : bench.tokens)
  const place = (at: Cell | null) => {
    setCell(at)
    if (!at) return hoverPair(head, null, null)
    const [first, second] = lecture ? [at.column, at.row] : [at.row, at.column]
    if (keyRows) hoverPair(head, null, first)
    else hoverPair(head, first, square ? second : null)
  }
  const pick = (at: Cell) => {
    setPicked(at)
    const [first, second] = lecture ? [at.column, at.row] : [at.row, at.column]
    if (keyRows) pickPair(head, null, first)
    else pickPair(head, first, square ? second : null)
  }
  const turn = (first: number | null, second: number | null) =>
    lecture ? { row: second, column: first } : { row: first, column: second }
  const elsewhere =
    over.query !== null && square && over.key !== null ? (turn(over.query, over.key) as Cell) : null
  const hovered = cell ?? elsewhere
  const value = hovered && (grid.values[hovered.row * grid.shape[1] + hovered.column] ?? null)
  const end = scale === 'weight' ? '1' : preciseWeight(range.end)
  const [rows, columns] = grid.shape
  const figure = (): Figure => ({
    title: `${stage.name} of ${headName(head)}${head.cross ? ' over the source' : ''}${after ? `, ${view}` : ''}`,
    note: `${stage.formula}. Rows: ${axes[0]}, columns: ${axes[1]}, ${rows} × ${columns}. ${stage.note ?? ''}`,
    facts: [`colours end at ±${end}; the largest magnitude is ${preciseWeight(range.largest)}`],
    body: () =>
      matrixBody({
        grid,
        axes,
        tokens: views(axes[0]),
        columnTokens: views(axes[1]),
        scale,
        end: range.end,
      }),
    table: () => ({
      columns: [axes[0], axes[1] === axes[0] ? `${axes[1]}_2` : axes[1], 'value'],
      rows: grid.values.map((one, n) => [Math.floor(n / columns), n % columns, one]),
    }),
    reproduce: { kind: 'bench', request: head },
  })
  return (
    <section className="sweep-main" aria-label={`Step: ${stage.name}`}>
      <div className="bench-head">
        <h3 className="pane-title">
          {stage.name}
          <span className="mono bench-open-formula">{stage.formula}</span>
          <span>
            {axes[0]} {grid.shape[0]} × {axes[1]} {grid.shape[1]}
          </span>
        </h3>
        {after && (
          <Segmented
            label="Before or after the changes"
            value={view}
            options={[
              { value: 'before', label: 'before' },
              { value: 'changed', label: 'changed' },
              { value: 'difference', label: 'difference' },
            ]}
            onChange={setShown}
          />
        )}
        <span className="legend" title={`largest magnitude ${preciseWeight(range.largest)}`}>
          {scale === 'weight' ? '0' : `−${end}`}
          <i style={{ background: scale === 'weight' ? rampGradient(theme) : signedGradient(theme) }} />
          {scale === 'weight' ? end : `+${end}`}
        </span>
        <FigureMenu figure={figure} name="the step" />
      </div>
      {picked && (
        <TypeCell
          key={`${picked.row} ${picked.column}`}
          step={stage.name}
          at={lecture ? { row: picked.column, column: picked.row } : picked}
          label={`${label(axes[0], picked.row)} · ${label(axes[1], picked.column)}`}
          now={grid.values[picked.row * grid.shape[1] + picked.column] ?? null}
          length={bench.tokens.length}
          source={head.cross ? bench.key_tokens.length : null}
        />
      )}
      <p className="bench-reading" role="status">
        {hovered ? (
          <>
            {label(axes[0], hovered.row)} · {label(axes[1], hovered.column)}
            <b>{value === null ? (square ? 'hidden' : 'none') : precise(value)}</b>
          </>
        ) : (
          <span className="muted">
            {[
              stage.note ?? 'Hover a cell for its number; click it to type another.',
              range.largest > range.end && scale === 'signed'
                ? `Colours end at ±${end}; the largest is ${preciseWeight(range.largest)}.`
                : '',
            ]
              .filter(Boolean)
              .join(' · ')}
          </span>
        )}
      </p>
      <MatrixGrid
        label={stage.name}
        grid={grid}
        axes={axes}
        tokens={views(axes[0])}
        columnTokens={views(axes[1])}
        scale={scale}
        end={range.end}
        theme={theme}
        marked={keyRows ? turn(bench.key, null) : turn(bench.query, square ? bench.key : null)}
        hovered={hovered}
        onHover={place}
        onPick={pick}
      />
    </section>
  )

  function label(axis: string, index: number): string {
    const token = countsTokens(axis) ? views(axis)[index]?.text : undefined
    return `${axis} ${index}${token === undefined ? '' : ` ‘${token}’`}`
  }
}

const isQuery = (axis: string) => axis === 'query'
const isKey = (axis: string) => axis === 'key' || axis === 'source'

/** Six digits: what a float32 is worth. */
function precise(value: number): string {
  return String(Number(value.toPrecision(6))).replace('-', '−')
}
