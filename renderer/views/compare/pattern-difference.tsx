/** The selected head's pattern on one text, B − A, signed: blue where B looks more. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { CompareRequest, DifferenceReply } from '../../../core/api/contract.ts'
import { headsApi } from '../../api/heads.ts'
import type { Pattern } from '../../api/pattern.ts'
import type { Figure, Source } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { FIT, type View } from '../../charts/labels.ts'
import { PatternChart } from '../../charts/pattern-chart.tsx'
import { patternBody, patternTable } from '../../charts/pattern-figure.ts'
import { differenceReading } from '../../charts/reading.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { largestDifference } from '../pattern/largest-difference.ts'
import { SignedLegend } from '../pattern/legend.tsx'
import { ReadOut } from '../pattern/read-out.tsx'

interface Props {
  readonly a: string
  readonly b: string
  readonly ids: readonly number[]
  readonly head: HeadId
  readonly source: () => Promise<Source>
}

const LABELS = 88

export function PatternDifference({ a, b, ids, head, source }: Props) {
  const found = useQuery({
    queryKey: ['pattern-difference', a, b, ids, head.layer, head.head],
    queryFn: ({ signal }) =>
      headsApi.difference({ a, b, prompt: { ids }, layer: head.layer, head: head.head }, signal),
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (found.isError) return <Failed error={found.error} retry={() => void found.refetch()} />
  if (!found.data) return <Waiting text={`Reading ${headName(head)} in both…`} />
  return (
    <Picture
      key={ids.join(' ')}
      data={found.data}
      name={`${a}→${b}/${ids.join('.')}/${headName(head)}`}
      head={head}
      source={source}
      request={{ a, b, prompts: [{ ids }] }}
    />
  )
}

interface PictureProps {
  readonly data: DifferenceReply
  readonly name: string
  readonly head: HeadId
  readonly source: () => Promise<Source>
  readonly request: CompareRequest
}

function Picture({ data, name, head, source, request }: PictureProps) {
  const theme = useTheme()
  const [view, setView] = useState<View>(FIT)
  const [before, after] = useMemo(() => [patternOf(data, data.a), patternOf(data, data.b)], [data])
  const bos = useSelection((s) => s.bos)
  const display = { theme, log: false, bos }
  const most = largestDifference(before, after, display)
  const figure = (): Figure => ({
    title: `pattern of ${headName(head)}, B − A`,
    note: 'Rows are queries, columns keys; blue where B looks more, red where it looks less. The scale is symmetric about 0.',
    source,
    body: () => patternBody({ pattern: after, against: before, tokens: data.tokens, display }),
    table: () =>
      patternTable(
        [
          { name: 'a', pattern: before },
          { name: 'b', pattern: after },
        ],
        data.tokens,
      ),
    reproduce: { kind: 'compare', request },
  })
  return (
    <>
      <h3 className="pane-title">
        {headName(head)}, B − A <span>rows are queries; blue where B looks more</span>
        <SignedLegend theme={theme} most={most} />
        <FigureMenu figure={figure} name="the difference" />
      </h3>
      <PatternChart
        name={name}
        title={`Difference of ${headName(head)} between the two checkpoints`}
        pattern={after}
        against={before}
        tokens={data.tokens}
        display={display}
        labels={LABELS}
        view={view}
        onView={setView}
      >
        <ReadOut reading={differenceReading(before, after, bos)} tokens={data.tokens} brief={false} />
      </PatternChart>
    </>
  )
}

/** Without the cells above the diagonal where nothing is there: those tokens are not visible. */
function patternOf({ tokens, a, b }: DifferenceReply, weights: readonly number[]): Pattern {
  const size = tokens.length
  const sees = (list: readonly number[]) =>
    list.some((weight, i) => weight !== 0 && i % size > Math.floor(i / size))
  if (sees(a) || sees(b)) return { size, layout: 'full', data: Float32Array.from(weights) }
  return {
    size,
    layout: 'tri',
    data: Float32Array.from(weights.filter((_, i) => i % size <= Math.floor(i / size))),
  }
}
