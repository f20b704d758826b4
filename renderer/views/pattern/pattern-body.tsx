/**
 * The picture and the lists below the panel's header. In: what is shown, what it is compared with, and how. Out: one
 * picture with its lists, or the two that are compared beside each other.
 */
import type { View } from '../../charts/labels.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import type { Compare, Form } from '../../state/selection.ts'
import { Waiting } from '../../ui/notice.tsx'
import { largestDifference } from './largest-difference.ts'
import { Legend, SignedLegend } from './legend.tsx'
import { LinkLists } from './link-lists.tsx'
import { PairBody } from './pair-body.tsx'
import { comesFrom, Picture, shownDifference, shownSide } from './picture.tsx'
import type { Unit } from './use-derived.ts'
import type { Pair, Side } from './use-pair.ts'
import type { ChangeView } from './use-view.ts'

interface Props {
  readonly current: Side
  readonly pair: Pair | null
  /** What the cells say. */
  readonly unit: Unit
  readonly compare: Compare
  readonly form: Form
  readonly display: Display
  readonly compact: boolean
  /** The window on the cells. */
  readonly view: View
  readonly onView: ChangeView
}

export function PatternBody(props: Props) {
  const { current, pair, unit, compare, form, display, compact, view, onView } = props
  if (pair?.problem)
    return (
      <p className="problem pattern-problem" role="alert">
        {pair.problem.message}
      </p>
    )
  if (pair && !pair.after && compare !== 'before') return <Waiting text="Running with the edits…" />
  if (pair?.after && compare === 'both')
    return (
      <PairBody
        {...{ unit, form, display, view, onView }}
        edited={pair.kind === 'edits'}
        before={pair.before}
        after={pair.after}
      />
    )

  const before = pair ? shownSide(pair.before, display) : null
  const after = pair?.after ? shownSide(pair.after, display) : null
  const difference = before && after ? shownDifference(before, after, display) : null
  const shown =
    compare === 'difference' && pair
      ? (difference ?? after)
      : compare === 'before' && before
        ? before
        : (after ?? shownSide(current, display))
  const scale = { theme: display.theme, log: display.log, unit }
  const from = compare === 'before' && pair ? pair.before : (pair?.after ?? current)
  return (
    <div className="pattern-body">
      <div className="pattern-main">
        {shown && (
          <Picture
            shown={shown}
            form={form}
            display={display}
            labels={compact ? 84 : 104}
            queryLabels
            view={view}
            onView={onView}
            brief={false}
            unit={unit.label === 'weight' ? '' : unit.label}
            definition={`${unit.definition}\n${comesFrom(from)}`}
          />
        )}
      </div>
      {shown && (
        <LinkLists reading={shown.reading} tokens={shown.tokens} rows={compact ? 7 : 14} form={form}>
          {form === 'arcs' ? null : shown.reading.signed ? (
            <SignedLegend
              {...scale}
              most={largestDifference(pair!.before.pattern, shown.pattern, display)}
              edited={pair?.kind === 'edits'}
            />
          ) : (
            <Legend {...scale} most={shown.reading.most} form={form} />
          )}
          {compare === 'difference' && pair && !difference && (
            <p className="muted small-text">Two lengths: there is no difference cell by cell.</p>
          )}
        </LinkLists>
      )}
    </div>
  )
}
