/** Every error that a person may see. `message` is one sentence: the thing, the rule, the remedy. */

export type ErrorCode =
  | 'bad-checkpoint' // a folder, config, weights or tokenizer file that breaks a rule
  | 'unsupported' // a well-formed thing that Headscope does not do
  | 'bad-prompt' // empty, too long, ids out of range
  | 'bad-edit' // an edit or metric that does not fit this model or prompt
  | 'bad-request' // a hook glob, option or argument that does not fit
  | 'bad-store' // a database that is not ours, newer than us, or damaged
  | 'no-space' // disk or page limit reached
  | 'not-found'
  | 'in-use' // a port or a file that another process holds
  | 'cancelled'
  | 'internal' // a rule of ours that was broken: a defect

export class HeadscopeError extends Error {
  readonly code: ErrorCode
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'HeadscopeError'
    this.code = code
  }
}

/** The one sentence of any thrown value. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** True for an abort: ours or the platform's. */
export function isCancelled(error: unknown): boolean {
  return (
    (error instanceof HeadscopeError && error.code === 'cancelled') || (error as Error)?.name === 'AbortError'
  )
}
