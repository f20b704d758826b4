/** The cell of a grid under the pointer or the cursor; a move inside one cell draws nothing again. Out: it, and what sets it. */
import { useCallback, useState } from 'react'
import type { Place } from './cells.ts'

export function useOverCell(): [Place | null, (layer: number | null, column: number | null) => void] {
  const [at, setAt] = useState<Place | null>(null)
  const over = useCallback(
    (layer: number | null, column: number | null) =>
      setAt((now) => {
        if (layer === null || column === null) return null
        return now?.layer === layer && now.column === column ? now : { layer, column }
      }),
    [],
  )
  return [at, over]
}
