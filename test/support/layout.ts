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

    /** What scrolls below a heading or a legend that stays is not seen there. */
    function sticks(hit: Element | null): boolean {
      for (let one = hit; one; one = one.parentElement)
        if (getComputedStyle(one).position === 'sticky') return true
      return false
    }

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
      if (hit && !control.contains(hit) && !hit.contains(control) && !label?.contains(hit) && !sticks(hit))
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
    // Letters: cut without a sign that they go on, outside of the window, or written over others.
    const texts: {
      node: Node
      /** The dialog or hint that it is in. */
      layer: Element | null
      words: string
      box: { left: number; top: number; right: number; bottom: number }
    }[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const words = node.textContent!.trim()
      const holder = node.parentElement!
      if (words === '' || holder.closest('svg, [aria-hidden=true], [inert], option, style, script, textarea'))
        continue
      if (!holder.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
      range.selectNodeContents(node)
      // What holds it and cuts it, from the inside to the outside.
      const holes: { hole: DOMRect; says: boolean }[] = []
      let says = false // that it goes on: an ellipsis, or a scroll bar
      let drawn = true // level, and not hidden from the eye in a hole of a pixel
      for (let parent: Element | null = holder; parent; parent = parent.parentElement) {
        const style = getComputedStyle(parent)
        if (style.writingMode !== 'horizontal-tb' || /matrix\((?!1, 0, 0, 1)/.test(style.transform))
          drawn = false
        if (style.overflowX === 'visible' && style.overflowY === 'visible') continue
        if (style.textOverflow === 'ellipsis' || style.webkitLineClamp !== 'none') says = true
        if (scrolls(style.overflowX) || scrolls(style.overflowY)) says = true
        const hole = parent.getBoundingClientRect()
        if (hole.width < 3 || hole.height < 3) drawn = false
        holes.push({ hole, says })
      }
      if (!drawn) continue
      for (const line of range.getClientRects()) {
        const box = { left: line.left, top: line.top, right: line.right, bottom: line.bottom }
        for (const { hole, says: told } of holes) {
          if (!told && box.right > hole.right + 3 && box.left < hole.right)
            flaws.push(`“${words.slice(0, 40)}” is cut at ${Math.round(hole.right)}, ${Math.round(line.top)}`)
          box.left = Math.max(box.left, hole.left)
          box.top = Math.max(box.top, hole.top)
          box.right = Math.min(box.right, hole.right)
          box.bottom = Math.min(box.bottom, hole.bottom)
        }
        if (box.right - box.left < 3 || box.bottom - box.top < 3) continue
        if (box.right > innerWidth + 1)
          flaws.push(`“${words.slice(0, 40)}” leaves the window at ${Math.round(line.top)}`)
        texts.push({ node, layer: holder.closest('[role=dialog], [data-base-ui-portal]'), words, box })
      }
    }
    texts.sort((a, b) => a.box.top - b.box.top)
    texts.forEach(({ node, layer, words, box }, i) => {
      for (let j = i + 1; j < texts.length && texts[j]!.box.top < box.bottom - 4; j++) {
        const other = texts[j]!
        if (other.layer !== layer) continue // a dialog or a hint lies on the rest
        if (other.node === node) continue // what is cut by an ellipsis is counted twice
        const wide = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left)
        const high = Math.min(box.bottom, other.box.bottom) - other.box.top
        const hit = document.elementFromPoint(
          Math.max(box.left, other.box.left) + 2,
          Math.max(box.top, other.box.top) + 2,
        )
        if (wide > 4 && high > 4 && !sticks(hit))
          flaws.push(
            `“${words.slice(0, 30)}” and “${other.words.slice(0, 30)}” lie on each other at ${Math.round(other.box.left)}, ${Math.round(other.box.top)}`,
          )
      }
    })
    return flaws
  })
}
