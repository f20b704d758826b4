/**
 * What a person would call broken about a window's layout. In: a page. Out: one line for each flaw: the document scrolls
 * sideways, a control sticks out of the window or of what holds it, is covered by something else, or is cut. About 20 ms.
 */
import type { Page } from 'playwright-core'

/** Flaws of what is on the screen now; empty when all is well. */
export function layoutFlaws(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const flaws: string[] = []
    const root = document.documentElement
    if (root.scrollWidth > innerWidth) flaws.push(`the document is ${root.scrollWidth} wide of ${innerWidth}`)
    if (root.scrollHeight > innerHeight)
      flaws.push(`the document is ${root.scrollHeight} high of ${innerHeight}`)

    const name = (element: Element) =>
      `${element.tagName.toLowerCase()} “${(element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 40)}”`
    const scrolls = (style: string) => style === 'auto' || style === 'scroll'

    /** What of the element can be seen, cut by everything that holds it; and whether scrolling would show the rest. */
    function seen(element: Element) {
      const box = element.getBoundingClientRect()
      const whole = { left: box.left, top: box.top, right: box.right, bottom: box.bottom }
      const left = { ...whole }
      let reachable = false
      for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        const style = getComputedStyle(parent)
        if (style.overflowX === 'visible' && style.overflowY === 'visible') continue
        const hole = parent.getBoundingClientRect()
        if (scrolls(style.overflowX) || scrolls(style.overflowY)) reachable = true
        left.left = Math.max(left.left, hole.left)
        left.top = Math.max(left.top, hole.top)
        left.right = Math.min(left.right, hole.right)
        left.bottom = Math.min(left.bottom, hole.bottom)
      }
      return { whole, left, reachable }
    }

    const controls = [
      ...document.querySelectorAll(
        'button, input, select, textarea, a[href], [role=tab], [role=combobox], [role=slider]',
      ),
    ].filter((element) => {
      const style = getComputedStyle(element)
      const box = element.getBoundingClientRect()
      return (
        element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
        box.width > 2 &&
        box.height > 2 &&
        style.pointerEvents !== 'none' &&
        !element.closest('[inert], [aria-hidden=true]')
      )
    })
    for (const control of controls) {
      const { whole, left, reachable } = seen(control)
      const cut =
        left.right - left.left < whole.right - whole.left - 2 ||
        left.bottom - left.top < whole.bottom - whole.top - 2
      const outside =
        whole.left < -1 || whole.top < -1 || whole.right > innerWidth + 1 || whole.bottom > innerHeight + 1
      if ((cut || outside) && !reachable) {
        flaws.push(
          `${name(control)} is cut: ${[whole.left, whole.top, whole.right, whole.bottom].map(Math.round)}`,
        )
        continue
      }
      if (cut || outside) continue
      const x = (whole.left + whole.right) / 2
      const y = (whole.top + whole.bottom) / 2
      const hit = document.elementFromPoint(x, y)
      const label = control.closest('label')
      if (hit && !control.contains(hit) && !hit.contains(control) && !label?.contains(hit))
        flaws.push(`${name(control)} is covered by ${name(hit)} at ${Math.round(x)}, ${Math.round(y)}`)
    }

    // Words of a control that do not fit into it, where nothing says that they go on.
    for (const element of controls) {
      if (element.tagName === 'INPUT' || element.tagName === 'TEXTAREA') continue
      const style = getComputedStyle(element)
      if (style.overflowX === 'visible' || style.textOverflow === 'ellipsis') continue
      if (element.scrollWidth > element.clientWidth + 2 && !scrolls(style.overflowX))
        flaws.push(`${name(element)} is ${element.scrollWidth} wide in ${element.clientWidth}`)
    }
    return flaws
  })
}
