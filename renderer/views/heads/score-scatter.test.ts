import { expect, test } from 'vitest'
import type { HeadScores } from '../../../core/analysis/types.ts'
import { weightColor } from '../../charts/color.ts'
import { PAPER } from '../../charts/css-colors.ts'
import { scatterOption } from './score-scatter.tsx'

const score = (value: number | null) => ({ value, n: 8, rows: 8, low: null, high: null })
const head = (n: number, sink: number | null): HeadScores => ({
  layer: 0,
  head: n,
  scores: { induction: score(0.1 * n), previous_token: score(0.2), first_token_sink: score(sink) },
})

test('a dot has the colour of the third score; one without it is grey, and its tooltip says so', () => {
  const drawn = {
    shown: [head(0, 0.9), head(1, null)],
    x: 'induction',
    y: 'previous_token',
    hue: 'first_token_sink',
    matches: () => true,
    selected: null,
  }
  const { series, tooltip } = scatterOption(drawn, 'light', PAPER)
  expect(series[0]!.data.map(({ itemStyle }) => itemStyle.color)).toEqual([
    weightColor('light', 0.9),
    PAPER.line,
  ])
  expect(tooltip.formatter({ dataIndex: 0 })).toBe(
    'L0H0\ninduction 0\nprevious token 0.20\nfirst-token sink 0.90',
  )
  expect(tooltip.formatter({ dataIndex: 1 })).toMatch(/first-token sink undefined$/)
})
