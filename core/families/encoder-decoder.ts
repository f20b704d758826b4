/** What families with an encoder and a decoder share: rules between their keys. */
import type { ZodType } from 'zod'
import { whole } from '../checkpoint/config.ts'
import { HeadscopeError } from '../errors.ts'
import { refuse } from './config-rules.ts'

/** A token id. */
export function tokenId(): ZodType<number> {
  return whole(0, Number.MAX_SAFE_INTEGER)
}

/** Throws `unsupported` for half of a model: an encoder or a decoder of such a family alone. */
export function needsBoth(c: { readonly is_encoder_decoder: boolean; readonly is_decoder: boolean }): void {
  refuse(c.is_decoder, 'is_decoder', 'this family is run as an encoder with its decoder')
  if (!c.is_encoder_decoder)
    throw new HeadscopeError(
      'unsupported',
      'config.json: is_encoder_decoder is off, but this family is run as an encoder with its decoder; this checkpoint cannot be run exactly, so it is not opened.',
    )
}
