/** Messages about stacks of edits that are kept by name. Part of contract.ts. */
import type { TokenView } from '../checkpoint/types.ts'
import type { Edit, Provenance } from '../run/types.ts'
import type { PredictReply, PromptInput } from './contract.ts'

/** One entry of a stack; those that are off are kept, but do not act. */
export interface StackedEdit {
  readonly edit: Edit
  readonly on: boolean
  readonly name: string | null
}

/** POST /api/edit-stacks: runs the prompt with and without the edits that are on, and keeps all of it: {id}. */
export interface EditStackRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly name: string
  readonly edits: readonly StackedEdit[]
}

/** GET /api/edit-stacks: newest first. DELETE /api/edit-stacks/:id removes one. */
export interface EditStackSummary {
  readonly id: number
  readonly name: string
  /** The model's folder, or its bundled name. */
  readonly model: string
  readonly modelName: string
  readonly created: string // ISO time
  readonly edits: number
}

/** GET /api/edit-stacks/:id */
export interface EditStackDetail extends EditStackSummary {
  readonly request: EditStackRequest
  /** Tokens of the prompt that was looked at. */
  readonly tokens: readonly TokenView[]
  /** What the model said at the last position, without and with the edits. */
  readonly reply: PredictReply
  readonly versions: Provenance['versions']
}
