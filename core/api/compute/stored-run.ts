/** What the app and the command line keep of a run, and how they say where it comes from. */
import type { Model } from '../../run/model.ts'
import type { Edit, Provenance } from '../../run/types.ts'
import { versions } from '../../run/versions.ts'
import type { SpecSummary } from '../contract.ts'

/**
 * Every pattern, the residual stream at each border of blocks, and at the end; of both stacks where there are two. Of an
 * ONNX file what it has of these, hook by hook.
 */
export function storedCaptures(
  { family, n_layers, encoder }: Pick<SpecSummary, 'family' | 'n_layers' | 'encoder'>,
  hooks: readonly { readonly name: string }[],
): string[] {
  const prefix = encoder ? 'decoder.' : ''
  if (family === 'onnx')
    return hooks
      .map(({ name }) => name)
      .filter(
        (name) => /hook_(pattern|resid_pre)$/.test(name) || name === `blocks.${n_layers - 1}.hook_resid_post`,
      )
  return [
    ...(encoder ? [`encoder.blocks.${encoder.n_layers - 1}.hook_resid_post`] : []),
    '*blocks.*.hook_pattern',
    '*blocks.*.hook_resid_pre',
    `${prefix}blocks.${n_layers - 1}.hook_resid_post`,
  ]
}

/** Where a run comes from, before it has run: the content hash is filled in when it is complete. */
export function provenanceOf(
  model: Pick<Model, 'path' | 'name' | 'spec' | 'device'>,
  capture: readonly string[],
  edits: readonly Edit[],
  tokenTypes?: Provenance['tokenTypes'],
): Provenance {
  return {
    modelPath: model.path,
    modelName: model.name,
    family: model.spec.family,
    contentHash: null,
    capture,
    edits,
    ...(tokenTypes ? { tokenTypes } : {}),
    versions,
    device: model.device,
    dtype: 'f32',
  }
}
