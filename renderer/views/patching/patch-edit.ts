/** One cell of a patching sweep as an edit of the run that it patches: to see that run by itself. */
import { blockHook } from '../../../core/graph/hook-names.ts'
import { PATCH_SITES, type PatchSite } from '../../../core/intervene/patch-sites.ts'
import type { Edit } from '../../../core/run/types.ts'

/** `from`: ids of the prompt whose values come in. Keys and values of grouped heads are named by kv_head. */
export function patchEdit(
  site: PatchSite,
  by: 'layer,pos' | 'layer,head',
  place: { layer: number; column: number },
  from: readonly number[],
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
    from: { ids: from },
  }
}
