/** One ECharts chart in an element: only the parts that are used, resized with its box, redrawn when its option changes. */
import { BarChart, CustomChart } from 'echarts/charts'
import { DataZoomComponent, GridComponent, LegendComponent, TooltipComponent } from 'echarts/components'
import * as echarts from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
import { useCallback, useLayoutEffect, useRef } from 'react'

echarts.use([
  BarChart,
  CustomChart,
  GridComponent,
  TooltipComponent,
  LegendComponent,
  DataZoomComponent,
  CanvasRenderer,
])

interface Props {
  readonly option: echarts.EChartsCoreOption
  readonly label: string
  /** Called with the position on the x axis that was clicked. */
  readonly onPick?: (index: number) => void
}

export function EChart({ option, label, onPick }: Props) {
  const chart = useRef<echarts.ECharts | null>(null)
  const mount = useCallback((element: HTMLDivElement | null) => {
    if (!element) return undefined
    const made = echarts.init(element, null, { renderer: 'canvas' })
    chart.current = made
    const observer = new ResizeObserver(() => made.resize({ animation: { duration: 0 } }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.dispose()
      chart.current = null
    }
  }, [])
  // An effect, because the chart is a thing outside React that has to follow.
  useLayoutEffect(() => {
    const made = chart.current
    if (!made) return undefined
    made.setOption(option, { notMerge: true })
    const onClick = (event: { offsetX: number; offsetY: number }) => {
      const point = [event.offsetX, event.offsetY]
      if (!onPick || !made.containPixel('grid', point)) return
      const at = made.convertFromPixel('grid', point) as number[]
      onPick(Math.round(at[0] ?? 0))
    }
    made.getZr().on('click', onClick)
    return () => made.getZr().off('click', onClick)
  }, [option, onPick])
  return <div className="echart" role="img" aria-label={label} ref={mount} />
}
