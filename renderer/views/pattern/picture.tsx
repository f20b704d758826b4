/** One picture of a pattern in the chosen form, with what it is drawn from. In: a side, display. Out: a chart or a text. */

import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Pattern } from '../../api/pattern.ts'
import type { View } from '../../charts/labels.ts'
import { PatternChart } from '../../charts/pattern-chart.tsx'
import type { Display } from '../../charts/pattern-pixels.ts'
import { differenceReading, type Reading, weightReading } from '../../charts/reading.ts'
import { describeEdit } from '../../state/edits.ts'
import { nameWithHash } from '../../state/model-name.ts'
import { type Form, headName } from '../../state/selection.ts'
import type { LinkedRef } from '../../ui/linked-scroll.ts'
import { ArcsForm } from './arcs-form.tsx'
import { ReadOut } from './read-out.tsx'
import { TextForm } from './text-form.tsx'
import type { Side } from './use-pair.ts'
import type { ChangeView } from './use-view.ts'

/** A pattern, or what it has more or less than another. */
export interface Shown {
  readonly name: string
  readonly title: string
  readonly pattern: Pattern
  readonly against: Pattern | null
  readonly tokens: readonly TokenView[]
  readonly reading: Reading
}

/** One side as it is. */
export function shownSide(side: Side, display: Display): Shown {
  return {
    name: `${side.run.id}/${headName(side.head)}`,
    title: `Attention pattern of ${headName(side.head)}`,
    pattern: side.pattern,
    against: null,
    tokens: side.run.views,
    reading: weightReading(side.pattern, display.bos),
  }
}

/** What the second has more or less than the first; null where they are not of one size. */
export function shownDifference(before: Shown, after: Shown, display: Display): Shown | null {
  if (before.pattern.size !== after.pattern.size) return null
  return {
    ...after,
    name: `${after.name}-${before.name}`,
    title: 'Difference of the two patterns',
    against: before.pattern,
    reading: differenceReading(before.pattern, after.pattern, display.bos),
  }
}

interface Props {
  readonly shown: Shown
  readonly form: Form
  readonly display: Display
  readonly labels: number
  readonly queryLabels: boolean
  readonly view: View
  readonly onView: ChangeView
  readonly brief: boolean
  readonly unit: string
  readonly definition: string
  /** Links the scrolling of a text with that of the one beside it. */
  readonly scroll?: LinkedRef
}

export function Picture(props: Props) {
  const { shown, form, display, labels, queryLabels, view, onView, brief, unit, definition, scroll } = props
  const { name, title, pattern, against, tokens, reading } = shown
  if (form === 'arcs') return <ArcsForm reading={reading} tokens={tokens} />
  if (form === 'text')
    return (
      <TextForm
        reading={reading}
        tokens={tokens}
        theme={display.theme}
        log={display.log}
        {...(scroll ? { scroll } : {})}
      />
    )
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
export function comesFrom({ run }: Side): string {
  const { contentHash, device, edits } = run.provenance
  const checkpoint = nameWithHash(run.modelName, contentHash)
  const changed = edits.length > 0 ? `, with ${edits.map(describeEdit).join('; ')}` : ''
  return `run ${run.id} of ${checkpoint}, n = 1 prompt of ${run.views.length} tokens, float32 on ${device}${changed}`
}
