/**
 * Rows of the vocabulary as the model uses them: token embeddings as they enter the residual stream (scale and
 * projection included), in chunks, never the matrix twice. In: token ids. Out: [n, d_model].
 */

import { hookPrefix } from '../graph/model-spec.ts'
import type { Engine } from '../run/engine.ts'
import { runSegment } from '../run/engine.ts'
import { asFloats, type Feed } from '../run/session.ts'

/** Tokens per chunk of a walk over the vocabulary. */
export const CHUNK = 4096

/** Embeddings of tokens [n, d_model]; the decoder's own where it reads an encoder. */
export async function embeddings(engine: Engine, tokens: readonly number[]): Promise<Float32Array> {
  const hook = `${hookPrefix(engine.model.spec)}hook_embed`
  const ids: Feed = { data: BigInt64Array.from(tokens, BigInt), shape: [1, tokens.length] }
  const outputs = await runSegment(engine, 'embed', [hook], [], new Map([['ids', ids]]))
  return asFloats(outputs.get(hook)!).data
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
