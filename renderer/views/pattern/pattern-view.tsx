/** One head's pattern, large, with the thumbnails of all heads beside it, so that heads are switched without leaving. */
import { HeadStrip } from './head-strip.tsx'
import { PatternPanel } from './pattern-panel.tsx'

export function PatternView() {
  return (
    <div className="view pattern-view">
      <HeadStrip />
      <PatternPanel />
    </div>
  )
}
