/** What a view of a clean and a corrupt prompt needs first: an opened checkpoint, and a run of the clean one. */
import type { ReactNode } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { WithRun } from './with-run.tsx'

export function WithCleanRun({
  children,
}: {
  readonly children: (model: OpenedModel, run: RunDetail) => ReactNode
}) {
  return (
    <WithRun
      title="No clean prompt yet"
      hint="Run a prompt above: it is the clean one. Then write a corrupt one that differs in what matters."
    >
      {children}
    </WithRun>
  )
}
