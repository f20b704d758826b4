/** One cell of a patching sweep as an edit of the run that it patches: to see that run by itself. */
import { blockHook } from '../../../core/graph/hook-names.ts'
import { PATCH_SITES, type PatchSite } from '../../../core/intervene/patch-sites.ts'
import type { Edit, EditSource } from '../../../core/run/types.ts'

/** `from`: the prompt whose values come in, of an encoder–decoder both its texts. Keys and values of grouped heads are named by kv_head. */
export function patchEdit(
  site: PatchSite,
  by: 'layer,pos' | 'layer,head',
  place: { layer: number; column: number },
  from: Extract<EditSource, { readonly ids: readonly number[] }>,
  grouped: boolean,
): Edit {
  const where =
    by === 'layer,head'
      ? grouped && (site === 'k' || site === 'v')
        ? 'kv_head'
        : 'head'
      : site.endsWith('pattern')
        ? 'query'
        : 'pos'
  return {
    hook: blockHook(place.layer, PATCH_SITES[site]),
    [where]: place.column,
    op: 'set',
    from,
  }
}
