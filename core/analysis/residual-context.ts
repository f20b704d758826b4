/**
 * One token in several contexts (mole in zoology, chemistry, medicine). In: prompts and the position of the token in
 * each. Out: per border, cosine and distance between its residuals for every pair of prompts; and, for one pair at one
 * border, which heads and MLPs wrote the difference. Cost: one forward per prompt.
 */
import { HeadscopeError } from '../errors.ts'
import type { Model } from '../run/model.ts'
import { cosine, norm, type ResidualStream, residualAt, residualStream } from './residual-geometry.ts'

export interface InContext {
  readonly ids: readonly number[]
  readonly pos: number
}

export interface ContextPair {
  readonly a: number
  readonly b: number
  readonly border: number
  readonly cosine: number | null
  readonly distance: number
}

export interface ContextShift {
  /** The token that all prompts share there; null where they differ. */
  readonly token: number | null
  readonly pairs: readonly ContextPair[]
}

/** Throws `bad-request` for fewer than two prompts or a position that is not there. */
export async function contextShift(
  model: Model,
  places: readonly InContext[],
  signal?: AbortSignal,
): Promise<ContextShift> {
  if (places.length < 2)
    throw new HeadscopeError('bad-request', 'A context shift compares two prompts or more; give another one.')
  const streams: ResidualStream[] = []
  for (const { ids, pos } of places) {
    const stream = await residualStream(model, ids, signal ? { signal } : {})
    residualAt(stream, 0, pos)
    streams.push(stream)
  }
  const tokens = new Set(places.map(({ ids, pos }) => ids[pos]!))
  const pairs = streams.flatMap((one, a) =>
    streams.slice(a + 1).flatMap((other, n) =>
      one.borders.map((_, border): ContextPair => {
        const b = a + 1 + n
        const x = residualAt(one, border, places[a]!.pos)
        const y = residualAt(other, border, places[b]!.pos)
        return { a, b, border, cosine: cosine(x, y), distance: norm(x.map((value, d) => value - y[d]!)) }
      }),
    ),
  )
  return { token: tokens.size === 1 ? [...tokens][0]! : null, pairs }
}
