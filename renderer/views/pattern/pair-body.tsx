/**
 * Two patterns beside each other, and their difference: heads, prompts or checkpoints. In: both sides. Out: two or three
 * pictures with one hover, one zoom and one scroll, and the lists of both below them, as long as there is room.
 */
import type { CSSProperties } from 'react'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { gutter, type View } from '../../charts/labels.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import type { Form } from '../../state/selection.ts'
import { useLinkedScroll } from '../../ui/linked-scroll.ts'
import { useSize } from '../../ui/use-size.ts'
import { largestDifference } from './largest-difference.ts'
import { Legend, SignedLegend } from './legend.tsx'
import { LinkLists } from './link-lists.tsx'
import { comesFrom, Picture, shownDifference, shownSide } from './picture.tsx'
import type { Unit } from './use-derived.ts'
import type { Side } from './use-pair.ts'
import { type ChangeView, viewOf } from './use-view.ts'

const BARE = 6 // pixels beside a picture without query labels
const GAP = 12 // pixels between pictures
const LABELS = 88 // pixels for the tokens of small pictures
const ROW = 19 // pixels of a line of the lists
const AROUND = 52 // pixels above and below these lines

interface Props {
  readonly before: Side
  readonly after: Side
  /** Whether it is edits that are compared. */
  readonly edited: boolean
  readonly unit: Unit
  readonly form: Form
  readonly display: Display
  readonly view: View
  readonly onView: ChangeView
}

export function PairBody(props: Props) {
  const { unit, form, display, view, onView } = props
  const scroll = useLinkedScroll()
  const [measure, size] = useSize<HTMLDivElement>()
  const [before, after] = [shownSide(props.before, display), shownSide(props.after, display)]
  const difference = shownDifference(before, after, display)
  const alike = sameTokens(before.tokens, after.tokens)
  const most = Math.max(before.pattern.size, after.pattern.size)
  const figures = [
    { shown: before, side: props.before, label: props.before.label, named: true },
    // Other tokens want names of their own.
    { shown: after, side: props.after, label: props.after.label, named: !alike },
    ...(difference && form === 'matrix'
      ? [
          {
            shown: difference,
            side: props.after,
            label: alike ? 'difference' : 'difference, position by position',
            named: false,
          },
        ]
      : []),
  ]
  const gutters = figures.reduce((sum, { shown, named }) => sum + gutterOf(shown.tokens, named) + GAP, 0)
  const scale = { theme: display.theme, log: display.log, unit }
  return (
    <div
      className={`pattern-body is-both is-${form}`}
      style={{ '--figures': figures.length, '--gutters': `${gutters}px` } as CSSProperties}
    >
      <div className="pattern-figures">
        {figures.map(({ shown, side, label, named }, i) => {
          const [own, change] = viewOf(view, onView, shown.pattern.size, most)
          return (
            <figure
              key={i === 2 ? 'difference' : i}
              className="pattern-figure"
              style={{ flexBasis: form === 'matrix' ? gutterOf(shown.tokens, named) : 0 }}
            >
              <figcaption className="clip" title={label}>
                {label}
              </figcaption>
              <Picture
                shown={shown}
                form={form}
                display={display}
                labels={LABELS}
                queryLabels={named}
                view={own}
                onView={change}
                brief={!named}
                unit="" // the legend says it: there is no room for it below each picture
                definition={`${unit.definition}\n${comesFrom(side)}`}
                scroll={scroll}
              />
            </figure>
          )
        })}
      </div>
      <div className="pair-lists" ref={measure}>
        <LinkLists
          reading={after.reading}
          before={difference ? before.reading : null}
          tokens={after.tokens}
          tokensBefore={alike || !difference ? null : before.tokens}
          form={form}
          rows={Math.max(4, Math.min(24, Math.floor((size.height - AROUND) / ROW)))}
        >
          {form !== 'arcs' && <Legend {...scale} most={after.reading.most} form={form} />}
          {difference ? (
            <SignedLegend
              {...scale}
              most={largestDifference(before.pattern, after.pattern, display)}
              edited={props.edited}
            />
          ) : (
            <p className="muted small-text">
              {before.pattern.size} and {after.pattern.size} tokens: no cell-by-cell difference.
            </p>
          )}
        </LinkLists>
      </div>
    </div>
  )
}

/** What a picture has beyond the others for the names of its queries. */
function gutterOf(tokens: readonly TokenView[], named: boolean): number {
  return named ? gutter(tokens, LABELS) - BARE : 0
}

function sameTokens(a: readonly TokenView[], b: readonly TokenView[]): boolean {
  return a.length === b.length && a.every(({ id, text }, i) => id === b[i]!.id && text === b[i]!.text)
}
