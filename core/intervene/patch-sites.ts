/** Where activation patching may put values: sites and their hooks. Pure: the app names a cell's edit with it. */

/** q and k are the vectors whose product is the score. */
export const PATCH_SITES = {
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
} as const

export type PatchSite = keyof typeof PATCH_SITES

export const PATCH_SITE_NAMES = Object.keys(PATCH_SITES) as readonly PatchSite[]

/** Whether a site belongs to single heads. */
export function hasHeads(site: PatchSite): boolean {
  return !site.endsWith('_out') && site !== 'resid_pre'
}
