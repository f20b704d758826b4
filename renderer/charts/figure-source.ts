/** Where a figure of the selection comes from. In: the open checkpoint, the shown run. Out: a Source. Pure. */
import type { ScanSettings } from '../../core/analysis/types.ts'
import type { OpenedModel, RunDetail } from '../../core/api/contract.ts'
import { describeEdit } from '../state/edits.ts'
import type { Source } from './figure.ts'

/** `run` null: the figure is of the weights, or of text that is not the run's. */
export function sourceOf(
  model: Pick<OpenedModel, 'name' | 'contentHash'> | null,
  run: RunDetail | null,
): Source {
  const known = run ? { name: run.modelName, hash: run.provenance.contentHash ?? null } : null
  const opened = model ? { name: model.name, hash: model.contentHash } : null
  return {
    checkpoints: [known?.hash ? known : (opened ?? known ?? { name: 'no checkpoint', hash: null })],
    run: run && {
      id: run.id,
      text: run.text ?? `ids ${run.views.map(({ id }) => id).join(', ')}`,
      tokens: run.views.length,
      device: run.provenance.device,
      edits: run.provenance.edits.map(describeEdit),
    },
  }
}

/** How scores on random tokens were made, in one line. */
export function scanLine({ batch, length, seed }: ScanSettings): string {
  return `n = ${batch} sequences of ${length} random tokens, each twice; ${seed === null ? 'the sequences were given' : `seed ${seed}`}`
}
