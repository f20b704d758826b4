/** Where a figure of the selection comes from. In: the open checkpoint, the shown run. Out: a Source. */
import type { ScanSettings } from '../../core/analysis/types.ts'
import type { OpenedModel, RunDetail } from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
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

const TRIES = 20
const PAUSE_MS = 300

/** Checkpoints with the hashes of their weights. They are opened when they are not; a hash is waited for for some seconds. */
export async function checkpointsOf(
  models: readonly { readonly name: string; readonly path: string }[],
): Promise<Source['checkpoints']> {
  return Promise.all(
    models.map(async ({ name, path }) => {
      let hash = (await api.openModel(path)).contentHash
      for (let i = 0; i < TRIES && hash === null; i++) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        hash = (await api.model(path)).contentHash
      }
      return { name, hash }
    }),
  )
}
