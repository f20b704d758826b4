/**
 * Rows of the vocabulary as the model uses them: token embeddings as they enter the residual stream (scale and
 * projection included), in chunks, never the matrix twice. In: token ids. Out: [n, d_model].
 */

import { HeadscopeError } from '../errors.ts'
import type { Engine } from '../run/engine.ts'
import { runSegment } from '../run/engine.ts'
import { asFloats, type Feed } from '../run/session.ts'

/** Tokens per chunk of a walk over the vocabulary. */
export const CHUNK = 4096

/** Embeddings of tokens [n, d_model]. Throws `unsupported` for an encoder–decoder. */
export async function embeddings(engine: Engine, tokens: readonly number[]): Promise<Float32Array> {
  if (engine.model.spec.encoderDecoder)
    throw new HeadscopeError(
      'unsupported',
      `Embeddings of the family ${engine.model.spec.family} are two tables (encoder and decoder), which are not compared yet.`,
    )
  const ids: Feed = { data: BigInt64Array.from(tokens, BigInt), shape: [1, tokens.length] }
  const outputs = await runSegment(engine, 'embed', ['hook_embed'], [], new Map([['ids', ids]]))
  return asFloats(outputs.get('hook_embed')!).data
}

/** Calls `visit` with chunks of consecutive ids until the vocabulary is through. */
export async function overVocabulary(
  engine: Engine,
  visit: (ids: readonly number[], first: number) => Promise<void>,
): Promise<void> {
  const { dVocab } = engine.model.spec
  for (let first = 0; first < dVocab; first += CHUNK) {
    const count = Math.min(CHUNK, dVocab - first)
    await visit(
      Array.from({ length: count }, (_, i) => first + i),
      first,
    )
  }
}
