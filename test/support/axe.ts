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

/** Violations of what is on the screen, after `settle` ms in which what a tab asks for comes. */
export function violations(page: Page, settle = 300): Promise<string[]> {
  return page.evaluate(
    async ([source, wait]) => {
      const holder = globalThis as unknown as { axe?: Axe }
      if (!holder.axe) new Function(source)()
      await new Promise((resolve) => setTimeout(resolve, wait))
      const found = await holder.axe!.run(document, { resultTypes: ['violations'] })
      return found.violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 160)}`),
      )
    },
    [AXE, settle] as const,
  )
}
