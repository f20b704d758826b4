/** Under which number the workspace keeps what is shown, when it was made, and whether the weights are still the same. */
import type { OpenedModel } from '../../../core/api/contract.ts'
import { useAnalyses } from '../../api/analyses.ts'
import { when } from '../../ui/sizes.ts'

interface Props {
  readonly id: number
  /** The checkpoint that is open; null: not looked at. */
  readonly model: OpenedModel | null
}

export function KeptLine({ id, model }: Props) {
  const kept = useAnalyses().data?.find((one) => one.id === id)
  if (!kept) return null
  const other = model?.contentHash != null && kept.contentHash !== model.contentHash
  return (
    <p className={other ? 'warning small-text kept-line' : 'muted small-text kept-line'}>
      {kept.title} · kept in the workspace as {id}, {when(kept.created)}
      {other && ' · made with other weights than those that are open'}
    </p>
  )
}
