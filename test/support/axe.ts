/** What axe finds wrong with a page: names, roles, contrast, order. In: a page. Out: one line for each flaw. About 0.5 s. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Axe {
  run(
    root: unknown,
    options: unknown,
  ): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>
}

/** Violations of what is on the screen now; of the named rules only, where some are named. */
export function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  return page.evaluate(
    async ([source, only]) => {
      const holder = globalThis as unknown as { axe?: Axe }
      if (!holder.axe) new Function(source)()
      // Colours that are still on their way to another theme are not those that are seen.
      for (const animation of document.getAnimations())
        if (animation.effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY) animation.finish()
      const found = await holder.axe!.run(document, {
        resultTypes: ['violations'],
        ...(only ? { runOnly: only } : {}),
      })
      return found.violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 160)}`),
      )
    },
    [AXE, rules ?? null] as const,
  )
}
