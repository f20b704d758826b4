/** What a view of one prompt needs first: an opened checkpoint and a run. Until both are there, what is missing or wrong. */
import type { ReactNode } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'

interface Props {
  readonly title?: string
  /** What to do where there is no run. */
  readonly hint: string
  readonly children: (model: OpenedModel, run: RunDetail) => ReactNode
}

export function WithRun({ title = 'No prompt yet', hint, children }: Props) {
  const model = useModel()
  const run = useRun()
  const problem = model.error ?? run.error
  if (problem)
    return <Failed error={problem} retry={() => void Promise.all([model.refetch(), run.refetch()])} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title={title}>
        <p>{hint}</p>
      </Empty>
    )
  return children(model.data, run.data)
}
