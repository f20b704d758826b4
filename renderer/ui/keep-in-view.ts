/**
 * Brings one child of a scrolling list into its view, and moves nothing else: the window and other lists stay. In: the list,
 * the child's place in it. Out: the list's scroll position; nothing where all of the list is in view.
 */
export function keepInView(list: Element | null | undefined, at: number | null): void {
  const child = at === null ? undefined : list?.children[at]
  if (!list || !child || list.scrollHeight <= list.clientHeight) return
  const [outer, inner] = [list.getBoundingClientRect(), child.getBoundingClientRect()]
  if (inner.top >= outer.top && inner.bottom <= outer.bottom) return
  list.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2 // to the middle: its neighbours are read too
}

/**
 * How far to scroll so that a box at `start` of the view, `size` long, lies between what covers the view's beginning and its
 * end; 0 where it does. Pure.
 */
export function beyond(start: number, size: number, covered: number, view: number): number {
  if (start < covered) return start - covered
  return Math.max(0, Math.min(start - covered, start + size - view))
}
