/** What the app and the command line keep of a run, and how they say where it comes from. */
import type { Model } from '../../run/model.ts'
import type { Edit, Provenance } from '../../run/types.ts'
import { versions } from '../../run/versions.ts'

/** Every pattern, the residual stream at each border of blocks, and at the end. */
export function storedCaptures(layers: number): string[] {
  return ['blocks.*.attn.hook_pattern', 'blocks.*.hook_resid_pre', `blocks.${layers - 1}.hook_resid_post`]
}

/** Where a run comes from, before it has run: the content hash is filled in when it is complete. */
export function provenanceOf(
  model: Pick<Model, 'path' | 'name' | 'spec'>,
  capture: readonly string[],
  edits: readonly Edit[],
): Provenance {
  return {
    modelPath: model.path,
    modelName: model.name,
    family: model.spec.family,
    contentHash: null,
    capture,
    edits,
    versions,
    device: 'cpu',
    dtype: 'f32',
  }
}
