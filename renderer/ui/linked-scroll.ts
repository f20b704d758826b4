/** Scrolling parts that move together. Out: a ref for each of them; moving one moves the others as far. */
import { useMemo } from 'react'

export type LinkedRef = (element: HTMLElement | null) => (() => void) | undefined

export function useLinkedScroll(): LinkedRef {
  return useMemo(() => {
    const parts = new Set<HTMLElement>()
    return (element) => {
      if (!element) return undefined
      const follow = () => {
        const share = (part: HTMLElement) => part.scrollHeight - part.clientHeight
        const at = share(element) > 0 ? element.scrollTop / share(element) : 0
        for (const other of parts) {
          // One text twice is moved line by line, two texts by their share.
          const same = Math.abs(other.scrollHeight - element.scrollHeight) <= 1
          const top = same ? Math.min(element.scrollTop, share(other)) : Math.round(at * share(other))
          // A pixel more or less is rounding: following it back would make both creep.
          if (other !== element && Math.abs(other.scrollTop - top) > 1) other.scrollTop = top
        }
      }
      parts.add(element)
      element.addEventListener('scroll', follow, { passive: true })
      return () => {
        parts.delete(element)
        element.removeEventListener('scroll', follow)
      }
    }
  }, [])
}
