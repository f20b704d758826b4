/** How a kept stack of edits lies in the store: an experiment of this kind, whose plan is this. */
import type { TokenView } from '../checkpoint/types.ts'
import type { Provenance } from '../run/types.ts'
import type { EditStackRequest } from './contract-edits.ts'

export const EDITS_KIND = 'edits'

export interface EditStackPlan {
  readonly request: EditStackRequest
  /** Of the prompt that is looked at: the decoder's own where it reads an encoder. */
  readonly tokens: readonly TokenView[]
  readonly versions: Provenance['versions']
}
