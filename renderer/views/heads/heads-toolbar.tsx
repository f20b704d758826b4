/** What the head browser shows: score, tiles, order, size, filter, legend, export. In: what is chosen. Out: choices. */
import type { SpecSummary } from '../../../core/api/contract.ts'
import { rampGradient } from '../../charts/color.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { type parseFilter, scoreLabel } from '../../state/rank.ts'
import type { HeadId, Selection } from '../../state/selection.ts'
import { select, useTool } from '../../state/store.ts'
import type { Theme } from '../../state/theme.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import type { Order } from './arrange.ts'
import { useCare } from './use-care.ts'

export type TileSize = 'fit' | 'medium' | 'large'

export const useOrder = () => useTool<Order>('order', 'layers')
export const useTileSize = () => useTool<TileSize>('size', 'fit')
/** The score on the other axis of the scatter. */
export const useAgainst = () => useTool<string>('against', 'previous_token')
/** The score that colours the dots of the scatter; unchosen: that of the axis across. */
export const useHue = () => useTool<string>('hue', '')

const ORDERS: readonly { readonly value: Order; readonly label: string }[] = [
  { value: 'layers', label: 'layers' },
  { value: 'score', label: 'score' },
  { value: 'class', label: 'class' },
  { value: 'pinned', label: 'pinned first' },
  { value: 'alike', label: 'alike patterns' },
]

interface Props {
  readonly spec: SpecSummary
  readonly score: string
  /** Scores that there are. */
  readonly names: readonly string[]
  readonly tiles: Exclude<Selection['tiles'], 'auto'>
  readonly scored: boolean
  readonly typed: string
  readonly filter: ReturnType<typeof parseFilter>
  /** How many heads fit the filter, of how many; the best of them. */
  readonly found: { readonly count: number; readonly of: number; readonly best: HeadId | null }
  readonly theme: Theme
  readonly figure: () => Figure
}

export function HeadsToolbar(props: Props) {
  const { spec, score, names, tiles, scored, typed, filter, found, theme, figure } = props
  const [order, setOrder] = useOrder()
  const [size, setSize] = useTileSize()
  const [against, setAgainst] = useAgainst()
  const [hue, setHue] = useHue()
  const scattered = tiles === 'scatter'
  const scores = (names.length ? names : [score]).map((name) => ({ value: name, label: scoreLabel(name) }))
  const choose = () => {
    const { head } = filter
    if (head && head.layer < spec.n_layers && head.head < spec.n_heads) select({ head, filter: '' })
    else if (found.best) select({ head: { layer: found.best.layer, head: found.best.head } })
  }
  return (
    <div className="toolbar is-wrapping">
      <span className="field">
        <span>{scattered ? 'across' : 'colour'}</span>
        <Choice
          label={scattered ? 'Score across' : 'Score that colours the heads'}
          value={score}
          options={scores}
          onChange={(next) => select({ score: next })}
        />
      </span>
      <Segmented
        label="What a tile shows"
        value={tiles}
        options={[
          { value: 'patterns', label: 'Patterns' },
          { value: 'scores', label: 'Scores' },
          { value: 'scatter', label: 'Scatter', disabled: !scored },
        ]}
        onChange={(next) => select({ tiles: next })}
      />
      {scattered ? (
        <>
          <span className="field">
            <span>against</span>
            <Choice label="Score on the other axis" value={against} options={scores} onChange={setAgainst} />
          </span>
          <span className="field">
            <span>colour</span>
            <Choice
              label="Score that colours the heads"
              value={hue || score}
              options={scores}
              onChange={(next) => setHue(next === score ? '' : next)}
            />
          </span>
        </>
      ) : (
        <>
          <span className="field">
            <span>order</span>
            <Choice label="Order of the heads" value={order} options={ORDERS} onChange={setOrder} />
          </span>
          <Segmented
            label="Size of the tiles"
            value={size}
            options={[
              { value: 'fit', label: 'Fit' },
              { value: 'medium', label: 'M' },
              { value: 'large', label: 'L' },
            ]}
            onChange={setSize}
          />
        </>
      )}
      <input
        className="input search"
        type="search"
        aria-label="Find or filter heads"
        placeholder="L1H3 · induction > .5 · pinned"
        title="L1H3 or 1.3 finds a head; L1, induction > .5, class induction, pinned and noted (has a note) filter"
        value={typed}
        onChange={(event) => select({ filter: event.target.value }, { replace: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') choose()
        }}
      />
      {filter.problem && <span className="problem">{filter.problem}</span>}
      {!filter.problem && typed !== '' && scored && (
        <span className="muted">
          {found.count} of {found.of}
        </span>
      )}
      <CareButton />
      <span className="toolbar-end">
        <span className="legend legend-score">
          0 <i style={{ background: rampGradient(theme) }} /> 1
        </span>
        <FigureMenu figure={figure} name="the heads" />
      </span>
    </div>
  )
}

/** Whether heads that have nothing to do with the locked token fade. */
function CareButton() {
  const care = useCare()
  if (!care) return null
  return (
    <button
      type="button"
      className={care.on ? 'button small toggle is-on care' : 'button small toggle care'}
      aria-pressed={care.on}
      title={`${care.definition}\nClick: ${care.on ? 'fade none' : 'fade the others'}`}
      onClick={() => care.turn(!care.on)}
    >
      {care.heads.size} <span className="token-text clip">{care.label}</span>
    </button>
  )
}
