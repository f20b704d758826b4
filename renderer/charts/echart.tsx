/** An ECharts chart whose library is fetched when the first one is shown: the window opens without it. */
import { lazy, Suspense } from 'react'
import type { EChartProps } from './echart-canvas.tsx'

const Canvas = lazy(() => import('./echart-canvas.tsx'))

export function EChart(props: EChartProps) {
  return (
    <Suspense fallback={<div className="echart" />}>
      <Canvas {...props} />
    </Suspense>
  )
}
