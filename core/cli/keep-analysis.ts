/**
 * A command's finished analysis in the workspace, as the app keeps it. In: the open workspace or none, models, what was
 * asked and what came of it. Out: its number, or null with --no-store.
 */
import type { Given } from '../api/analysis-record.ts'
import type { WorkspaceWrites } from '../api/compute/workspace-writes.ts'
import type { PromptInput } from '../api/contract.ts'
import type { Analyses, AnalysisKind } from '../api/contract-analyses.ts'
import type { Model } from '../run/model.ts'
import type { FilePrompt } from '../run/prompt-file.ts'
import type { Output } from './output.ts'
import { type DecoderValues, idList } from './prompts.ts'

export interface OpenStore {
  readonly path: string
  readonly writes: WorkspaceWrites
}

/** Keeps it; the first model owns it. */
export async function keep<K extends AnalysisKind>(
  store: OpenStore | null,
  kind: K,
  models: readonly [Model, ...Model[]],
  request: Analyses[K]['request'],
  reply: Given<K>,
): Promise<number | null> {
  if (!store) return null
  const { keepAnalysisOf } = await import('../api/compute/keep-analysis.ts')
  return keepAnalysisOf(store.writes.experiments, kind, models, request, reply)
}

/** Prompts as a request has them. */
export function inputsOf(
  given: readonly FilePrompt[],
  bos: string | undefined,
  decoders?: DecoderValues,
): PromptInput[] {
  const own = decoders && [
    ...decoders['decoder-text'].map((text) => ({ text })),
    ...decoders['decoder-ids'].map((ids) => ({ ids: idList(ids, '--decoder-ids') })),
  ]
  return given.map((one, i) => ({
    ...one,
    ...(bos === undefined || 'ids' in one ? {} : { bos: bos as 'auto' | 'yes' | 'no' }),
    ...(own?.[i] ? { decoder: own[i] } : {}),
  }))
}

/** Says where it is. */
export function sayKept(out: Output, store: OpenStore | null, experiment: number | null): void {
  if (store && experiment !== null)
    out.line(
      out.style.dim(
        `Kept as experiment ${experiment} in ${store.path}; as a table: headscope export experiment:${experiment} --out F.csv`,
      ),
    )
}
