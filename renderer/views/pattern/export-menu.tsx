/** Takes what the panel shows out of the app: one pattern or two with their difference, as matrix, arcs or text. */
import type { Figure, Source } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { sourceOf } from '../../charts/figure-source.ts'
import { arcsBody, patternBody, patternTable, textBody } from '../../charts/pattern-figure.ts'
import type { Display } from '../../charts/pattern-pixels.ts'
import { differenceReading, weightReading } from '../../charts/reading.ts'
import { beside, type FigureBody, stacked } from '../../charts/svg.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { type Compare, type Form, headName } from '../../state/selection.ts'
import { getSelection } from '../../state/store.ts'
import type { Unit } from './use-derived.ts'
import type { Pair, Side } from './use-pair.ts'

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

/** What is drawn: a pattern, or its difference from another. */
interface Shown {
  readonly label: string
  readonly side: Side
  readonly against: Side | null
}

export function ExportMenu(props: Props) {
  return <FigureMenu figure={() => figureOf(props)} name="the pattern" compact={props.compact} />
}

function figureOf({ current, pair, unit, compare, form, display }: Props): Figure {
  const shown = shownOf(current, pair, compare)
  const sides = [...new Set(shown.flatMap(({ side, against }) => (against ? [against, side] : [side])))]
  const { run } = shown[0]!.side
  const edits = sides.find((side) => side.run.provenance.edits.length > 0)?.run.provenance.edits ?? []
  const { query } = getSelection()
  const draw = ({ side, against }: Shown, size: number): FigureBody => {
    const { pattern } = side
    const tokens = side.run.views
    const reading = against
      ? differenceReading(against.pattern, pattern, display.bos)
      : weightReading(pattern, display.bos)
    if (form === 'arcs') return arcsBody(reading, tokens, query)
    if (form === 'text') return textBody(reading, tokens, query, display.log)
    return patternBody({ pattern, against: against?.pattern ?? null, tokens, display }, size)
  }
  return {
    title: `pattern of ${[...new Set(sides.map((side) => headName(side.head)))].join(' and ')}${shown.length === 1 && shown[0]!.against ? ', difference' : ''}`,
    note: `${FORMS[form]} ${unit.label}${unit.mass === null ? '' : `, the keys that hold ${unit.mass} % of each row`}, ${display.log ? 'log' : 'linear'} scale${BOS[display.bos]}.${shown.some(({ against }) => against) ? ' Difference: blue more, red less.' : ''}${form !== 'matrix' && query !== null ? ` Query ${query} ‘${run.views[query]?.text ?? ''}’.` : ''}`,
    source: sourceOfSides(sides),
    facts: [
      unit.definition,
      ...(sides.length > 1 ? sides.map(({ label, run: of }) => `${label}: run ${of.id}`) : []),
    ],
    body: () => {
      const drawn = shown.map((one) => ({
        title: shown.length > 1 ? one.label : '',
        body: draw(one, shown.length > 1 ? 400 : 600),
      }))
      return form === 'matrix' ? beside(drawn) : stacked(drawn.map((one) => beside([one])))
    },
    table: () => {
      const names = sides.length === 1 ? [unit.label] : sides.map(({ label }) => label)
      const same = sides.filter((side) => side.pattern.size === sides[0]!.pattern.size)
      return patternTable(
        same.map(({ pattern }, i) => ({ name: names[i]!, pattern })),
        run.views,
      )
    },
    reproduce: {
      kind: 'run',
      request: {
        model: run.model,
        prompt: promptOf(run),
        ...(edits.length > 0 ? { edits } : {}),
      },
    },
  }
}

const FORMS: Readonly<Record<Form, string>> = {
  matrix: 'Rows are queries, columns keys; colour is',
  arcs: 'Arcs from a query back to a key; thickness is',
  text: 'Blue behind a word says how much the query looks at it:',
}

const BOS: Readonly<Record<Display['bos'], string>> = {
  show: '',
  hide: ', first token hidden',
  renormalise: ', first token left out and rows renormalised',
}

/** As the panel decides it. */
function shownOf(current: Side, pair: Pair | null, compare: Compare): Shown[] {
  const one = (side: Side): Shown => ({ label: side.label, side, against: null })
  if (!pair?.after) return [one(pair && compare === 'before' ? pair.before : current)]
  const { before, after } = pair
  const difference =
    before.pattern.size === after.pattern.size ? { label: 'difference', side: after, against: before } : null
  if (compare === 'before') return [one(before)]
  if (compare === 'after') return [one(after)]
  if (compare === 'difference') return [difference ?? one(after)]
  return [one(before), one(after), ...(difference ? [difference] : [])]
}

function sourceOfSides(sides: readonly Side[]): Source {
  const sources = sides.map(({ run }) => sourceOf(null, run))
  const names = new Map(
    sources.flatMap(({ checkpoints }) => checkpoints).map((one) => [one.hash ?? one.name, one]),
  )
  const edited = sources.find(({ run }) => run && run.edits.length > 0)
  return { checkpoints: [...names.values()], run: (edited ?? sources[0]!).run }
}
