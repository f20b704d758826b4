/**
 * The pictures and the lists below the panel's header. In: what is shown, what it is compared with, and how. Out: one
 * picture, or before, after and difference beside each other with one hover, one zoom and one scroll.
 */
import { useState } from 'react'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import { FIT, gutter, type View } from '../../charts/labels.ts'
import { PatternChart } from '../../charts/pattern-chart.tsx'
import type { Display } from '../../charts/pattern-pixels.ts'
import { differenceReading, type Reading, weightReading } from '../../charts/reading.ts'
import { describeEdit } from '../../state/edits.ts'
import { type Compare, type Form, headName } from '../../state/selection.ts'
import { Waiting } from '../../ui/notice.tsx'
import { ArcsForm } from './arcs-form.tsx'
import { largestDifference } from './largest-difference.ts'
import { Legend, SignedLegend } from './legend.tsx'
import { LinkLists } from './link-lists.tsx'
import { ReadOut } from './read-out.tsx'
import { TextForm } from './text-form.tsx'
import type { Unit } from './use-derived.ts'
import type { Pair, Side } from './use-pair.ts'

const BARE = 6 // pixels beside a picture without query labels
const LABELS = 88 // pixels for the tokens of small pictures

interface Props {
  readonly current: Side
  readonly pair: Pair | null
  /** What the cells say. */
  readonly unit: Unit
  readonly compare: Compare
  readonly form: Form
  readonly display: Display
  readonly compact: boolean
}

/** One picture: a pattern, or what it has more or less than another. */
interface Shown {
  readonly name: string
  readonly title: string
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly tokens: readonly TokenView[]
  readonly reading: Reading
}

export function PatternBody({ current, pair, unit, compare, form, display, compact }: Props) {
  const [view, setView] = useState<View>(FIT)
  if (pair?.problem)
    return (
      <p className="problem pattern-problem" role="alert">
        {pair.problem.message}
      </p>
    )
  if (pair && !pair.after && compare !== 'before') return <Waiting text="Running with the edits…" />

  const one = (side: Side): Shown => ({
    name: `${side.run.id}/${headName(side.head)}`,
    title: `Attention pattern of ${headName(side.head)}`,
    pattern: side.pattern,
    against: null,
    tokens: side.run.views,
    reading: weightReading(side.pattern, display.bos),
  })
  const before = pair ? one(pair.before) : null
  const after = pair?.after ? one(pair.after) : null
  const comparable = before && after && before.pattern.size === after.pattern.size
  const difference: Shown | null = comparable
    ? {
        ...after,
        name: `${after.name}-${before.name}`,
        title: 'Difference of the two patterns',
        against: before.pattern,
        reading: differenceReading(before.pattern, after.pattern, display.bos),
      }
    : null
  const most = difference ? largestDifference(before!.pattern, after!.pattern, display) : 0
  const unitName = unit.label === 'weight' ? '' : unit.label
  const scale = { theme: display.theme, log: display.log, unit }

  if (pair && before && after && compare === 'both') {
    const figures = [
      { shown: before, label: pair.before.label },
      { shown: after, label: pair.after!.label },
      ...(difference && form === 'matrix' ? [{ shown: difference, label: 'difference' }] : []),
    ]
    return (
      <div className={`pattern-body is-both is-${form}`}>
        <div className="pattern-figures">
          {figures.map(({ shown, label }, i) => (
            <figure
              key={label}
              className="pattern-figure"
              style={{ flexBasis: i === 0 && comparable ? gutter(shown.tokens, LABELS) - BARE : 0 }}
            >
              <figcaption className="clip" title={label}>
                {label}
              </figcaption>
              <Picture
                shown={shown}
                form={form}
                display={display}
                labels={LABELS}
                queryLabels={i === 0 || !comparable}
                view={view}
                onView={setView}
                brief={i > 0}
                unit={unitName}
                definition={`${unit.definition}\n${comesFrom(i === 0 ? pair.before : pair.after!)}`}
              />
            </figure>
          ))}
        </div>
        <LinkLists
          reading={after.reading}
          before={comparable ? before.reading : null}
          tokens={after.tokens}
          rows={7}
        >
          <Legend {...scale} most={after.reading.most} />
          {difference ? (
            <SignedLegend {...scale} most={most} />
          ) : (
            <p className="muted small-text">
              {before.pattern.size} and {after.pattern.size} tokens: no cell-by-cell difference.
            </p>
          )}
        </LinkLists>
      </div>
    )
  }

  const shown =
    compare === 'difference' && pair
      ? (difference ?? after)
      : compare === 'before' && before
        ? before
        : (after ?? one(current))
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
            onView={setView}
            brief={false}
            unit={unitName}
            definition={`${unit.definition}\n${comesFrom(compare === 'before' && pair ? pair.before : (pair?.after ?? current))}`}
          />
        )}
      </div>
      {shown && (
        <LinkLists reading={shown.reading} tokens={shown.tokens} rows={compact ? 7 : 14}>
          {shown.reading.signed ? (
            <SignedLegend {...scale} most={most} />
          ) : (
            <Legend {...scale} most={shown.reading.most} />
          )}
          {compare === 'difference' && pair && !difference && (
            <p className="muted small-text">Two lengths: there is no difference cell by cell.</p>
          )}
        </LinkLists>
      )}
    </div>
  )
}

interface PictureProps {
  readonly shown: Shown
  readonly form: Form
  readonly display: Display
  readonly labels: number
  readonly queryLabels: boolean
  readonly view: View
  readonly onView: (change: (view: View) => View) => void
  readonly brief: boolean
  readonly unit: string
  readonly definition: string
}

function Picture({
  shown,
  form,
  display,
  labels,
  queryLabels,
  view,
  onView,
  brief,
  unit,
  definition,
}: PictureProps) {
  const { name, title, pattern, against, tokens, reading } = shown
  if (form === 'arcs') return <ArcsForm reading={reading} tokens={tokens} />
  if (form === 'text')
    return <TextForm reading={reading} tokens={tokens} theme={display.theme} log={display.log} />
  return (
    <PatternChart
      name={name}
      title={title}
      pattern={pattern}
      against={against}
      reading={reading}
      tokens={tokens}
      display={display}
      labels={labels}
      queryLabels={queryLabels}
      view={view}
      onView={onView}
    >
      <ReadOut reading={reading} tokens={tokens} unit={unit} definition={definition} brief={brief} />
    </PatternChart>
  )
}

/** The run behind a number, its checkpoint and what was changed in it. */
function comesFrom({ run }: Side): string {
  const { contentHash, device, edits } = run.provenance
  const checkpoint = `${run.modelName}${contentHash ? ` (${contentHash.slice(0, 12)})` : ''}`
  const changed = edits.length > 0 ? `, with ${edits.map(describeEdit).join('; ')}` : ''
  return `run ${run.id} of ${checkpoint}, n = 1 prompt of ${run.views.length} tokens, float32 on ${device}${changed}`
}
