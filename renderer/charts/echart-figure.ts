/** An ECharts chart as a figure for paper. In: its option for given colours. Out: SVG with text as text. The library is fetched then. */
import type { EChartsCoreOption } from 'echarts/core'
import { type ChartColors, PAPER } from './css-colors.ts'
import type { FigureBody } from './svg.ts'

export async function chartFigure(
  option: (colors: ChartColors) => EChartsCoreOption,
  width = 720,
  height = 380,
): Promise<FigureBody> {
  const { echarts } = await import('./echart-parts.ts')
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    // On screen the font is inherited from the page; a file has none to inherit.
    chart.setOption({ ...option(PAPER), textStyle: { fontFamily: 'sans-serif' }, animation: false })
    return { width, height, markup: chart.renderToSVGString() }
  } finally {
    chart.dispose()
  }
}
