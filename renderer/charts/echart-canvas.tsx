/** One ECharts chart in an element: only the parts that are used, resized with its box, redrawn when its option changes. */
import type { ECharts, EChartsCoreOption } from 'echarts/core'
import { useCallback, useLayoutEffect, useRef } from 'react'
import { echarts } from './echart-parts.ts'

export interface EChartProps {
  readonly option: EChartsCoreOption
  readonly label: string
  /** Called with the position on the x axis that was clicked. */
  readonly onPick?: (index: number) => void
  /** Called with the item (and its series) that was clicked. */
  readonly onItem?: (index: number, series: number) => void
}

export default function EChartCanvas({ option, label, onPick, onItem }: EChartProps) {
  const chart = useRef<ECharts | null>(null)
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
    const onChosen = (event: { dataIndex?: number; seriesIndex?: number }) => {
      if (event.dataIndex !== undefined) onItem?.(event.dataIndex, event.seriesIndex ?? 0)
    }
    made.getZr().on('click', onClick)
    made.on('click', onChosen as (event: unknown) => void)
    return () => {
      made.getZr().off('click', onClick)
      made.off('click', onChosen as (event: unknown) => void)
    }
  }, [option, onPick, onItem])
  return <div className="echart" role="img" aria-label={label} ref={mount} />
}
