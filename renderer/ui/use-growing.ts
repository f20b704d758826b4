/** Long lists a part at a time. In: how many there are. Out: how many to draw now. */
import { useEffect, useState } from 'react'

/**
 * Grows from `step` to `length`, by `step` a frame, so that no task is long; begins anew when its view was hidden. What
 * is scrolled to later than the first frames is there by then.
 */
export function useGrowing(length: number, step: number): number {
  const [count, setCount] = useState(step)
  useEffect(() => {
    if (count >= length) return
    const frame = requestAnimationFrame(() => setCount(count + step))
    return () => cancelAnimationFrame(frame)
  }, [count, length, step])
  useEffect(() => () => setCount(step), [step])
  return Math.min(count, length)
}
