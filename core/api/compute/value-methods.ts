/**
 * Lengths of the values of a stored run. In: its checkpoint, tokens and edits, as they were stored. Out: the norms of one
 * layer. One forward gives all layers: the last few answers are kept, so that a walk over layers costs it once.
 */
import type { ValueNormKind, ValueNorms, valueNorms } from '../../analysis/value-norms.ts'
import { HeadscopeError } from '../../errors.ts'
import type { Model } from '../../run/model.ts'
import type { Edit } from '../../run/types.ts'
import type { ValueNormsReply } from '../contract.ts'
import type { ModelCache } from './model-cache.ts'
import type { Call } from './rpc.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** A stored run as it was made. */
export interface ValueNormsInput {
  readonly run: number
  readonly model: string
  readonly contentHash: string | null
  readonly ids: readonly number[]
  readonly edits: readonly Edit[]
  readonly kind: ValueNormKind
  readonly layer: number
}

/** Answers that are kept. */
const KEPT = 4

/** Makes the table. */
export function createValueMethods(deps: {
  readonly analyses: { readonly valueNorms: typeof valueNorms }
  readonly models: ModelCache<Model>
  readonly workspace: Pick<WorkspaceWrites, 'openRun'>
}) {
  const { analyses, models, workspace } = deps
  const known = new Map<string, ValueNorms>() // oldest first

  async function normsOf(input: ValueNormsInput, signal: AbortSignal): Promise<ValueNorms> {
    const { run, model, contentHash, ids, edits, kind } = input
    const key = `${run} ${kind} ${contentHash}`
    const found = known.get(key)
    if (found) return found
    const made = await models.use(model, async (opened) => {
      const { hash } = await opened.contentHash()
      if (contentHash !== null && hash !== contentHash)
        throw new HeadscopeError(
          'bad-request',
          `Run ${run} was made with other weights than ${opened.name} has now; run the prompt again to weight its patterns by values.`,
        )
      return analyses.valueNorms(opened, ids, { kind, edits, openRun: workspace.openRun, signal })
    })
    known.set(key, made)
    if (known.size > KEPT) known.delete(known.keys().next().value!)
    return made
  }

  return {
    valueNorms: async (input: ValueNormsInput, { signal }: Call): Promise<ValueNormsReply> => {
      const { kind, definition, layers, heads, length, data } = await normsOf(input, signal)
      const { layer } = input
      if (layer >= layers)
        throw new HeadscopeError(
          'not-found',
          `There is no layer ${layer}: they are numbered 0 to ${layers - 1}.`,
        )
      const norms = Array.from({ length: heads }, (_, head) => {
        const start = (layer * heads + head) * length
        return Array.from(data.subarray(start, start + length), (norm) =>
          Number.isFinite(norm) ? norm : null,
        )
      })
      return { kind, layer, definition, norms }
    },
  }
}
