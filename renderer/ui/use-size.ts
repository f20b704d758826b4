/** The size of an element as it changes, by a callback ref. */
import { useCallback, useState } from 'react'

export interface Size {
  readonly width: number
  readonly height: number
}

export function useSize<E extends HTMLElement>(): [(element: E | null) => (() => void) | undefined, Size] {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  const ref = useCallback((element: E | null) => {
    if (!element) return undefined
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element
      setSize((now) => (now.width === width && now.height === height ? now : { width, height }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}
