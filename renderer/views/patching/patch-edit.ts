/** One cell of a patching sweep as an edit of the run that it patches: to see that run by itself. */
import type { PatchRequest } from '../../../core/api/contract.ts'
import type { Edit } from '../../../core/run/types.ts'

type Site = PatchRequest['site']

/** Hooks of the sites; q and k are the vectors whose product is the score. */
const HOOKS: Readonly<Record<Site, string>> = {
  resid_pre: 'hook_resid_pre',
  attn_out: 'hook_attn_out',
  mlp_out: 'hook_mlp_out',
  z: 'attn.hook_z',
  q: 'attn.hook_rot_q',
  k: 'attn.hook_rot_k',
  v: 'attn.hook_v',
  pattern: 'attn.hook_pattern',
  cross_attn_out: 'hook_cross_attn_out',
  cross_z: 'cross_attn.hook_z',
  cross_pattern: 'cross_attn.hook_pattern',
}

/** `from`: ids of the prompt whose values come in. Keys and values of grouped heads are named by kv_head. */
export function patchEdit(
  site: Site,
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
      : site === 'pattern'
        ? 'query'
        : 'pos'
  return {
    hook: `blocks.${place.layer}.${HOOKS[site]}`,
    [where]: place.column,
    op: 'set',
    from: { ids: from },
  }
}
