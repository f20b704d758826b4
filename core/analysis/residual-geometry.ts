/**
 * The residual stream as vectors: norms, and cosines between layers and between positions. In: a prompt. Out: rows by
 * block border (0 before block 0, the last after the last block). Cost: one forward; T² d_model per asked layer.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf, hookPrefix, type ModelSpec } from '../graph/model-spec.ts'
import type { Model } from '../run/model.ts'
import type { Edit } from '../run/types.ts'

/** Residuals at every border, [border][pos · d_model]. */
export interface ResidualStream {
  readonly ids: readonly number[]
  readonly dModel: number
  readonly borders: readonly Float32Array[]
}

export interface ResidualOptions {
  readonly edits?: readonly Edit[]
  readonly decoderIds?: readonly (readonly number[])[]
  readonly signal?: AbortSignal
}

/** The residual stream of one prompt (the decoder's where there is an encoder). */
export async function residualStream(
  model: Model,
  ids: readonly number[],
  options: ResidualOptions = {},
): Promise<ResidualStream> {
  const names = borderHooks(model.spec)
  const run = await model.run(ids, { ...options, capture: names, top: 0 })
  return {
    ids: run.items[0]!.ids,
    dModel: model.spec.dModel,
    borders: names.map((name) => run.get(name).data),
  }
}

/** The hooks of the residual at every block border, 0 … layers. */
export function borderHooks(spec: ModelSpec): string[] {
  return Array.from({ length: decoderOf(spec).layers.length + 1 }, (_, border) => borderHook(spec, border))
}

/** The hook of the residual at a block border, 0 … layers. Throws `bad-request` for another. */
export function borderHook(spec: ModelSpec, border: number): string {
  const count = decoderOf(spec).layers.length
  if (!Number.isInteger(border) || border < 0 || border > count)
    throw new HeadscopeError(
      'bad-request',
      `There is no border ${border}: they are numbered 0 (before block 0) to ${count} (after the last block).`,
    )
  const local = border < count ? blockHook(border, 'hook_resid_pre') : blockHook(count - 1, 'hook_resid_post')
  return hookPrefix(spec) + local
}

/** One residual. Throws `bad-request` for a border or position that is not there. */
export function residualAt(stream: ResidualStream, border: number, pos: number): Float32Array {
  const data = stream.borders[border]
  if (!data || !Number.isInteger(border))
    throw new HeadscopeError(
      'bad-request',
      `There is no border ${border}: they are numbered 0 to ${stream.borders.length - 1}.`,
    )
  const length = data.length / stream.dModel
  if (!Number.isInteger(pos) || pos < 0 || pos >= length)
    throw new HeadscopeError(
      'bad-request',
      `There is no position ${pos}: the prompt has ${length} tokens, numbered from 0.`,
    )
  return data.subarray(pos * stream.dModel, (pos + 1) * stream.dModel)
}

export interface ResidualGeometry {
  /** |x| by [border][pos]. */
  readonly norms: readonly (readonly number[])[]
  /** Cosine with the border before, by [border - 1][pos]; null where a residual is zero. */
  readonly step: readonly (readonly (number | null)[])[]
  /** Cosine with the last border, by [border][pos]. */
  readonly toEnd: readonly (readonly (number | null)[])[]
}

/** Norms and cosines along the layers. */
export function residualGeometry(stream: ResidualStream): ResidualGeometry {
  const length = stream.borders[0]!.length / stream.dModel
  const each = <T>(make: (pos: number) => T): T[] => Array.from({ length }, (_, pos) => make(pos))
  const last = stream.borders.length - 1
  const at = (border: number, pos: number) => residualAt(stream, border, pos)
  return {
    norms: stream.borders.map((_, border) => each((pos) => norm(at(border, pos)))),
    step: stream.borders
      .slice(1)
      .map((_, border) => each((pos) => cosine(at(border, pos), at(border + 1, pos)))),
    toEnd: stream.borders.map((_, border) => each((pos) => cosine(at(border, pos), at(last, pos)))),
  }
}

/** Cosines between all positions at one border, [pos][pos]. */
export function positionCosines(stream: ResidualStream, border: number): (number | null)[][] {
  const length = stream.borders[0]!.length / stream.dModel
  return Array.from({ length }, (_, a) =>
    Array.from({ length }, (_, b) => cosine(residualAt(stream, border, a), residualAt(stream, border, b))),
  )
}

export interface Convergence {
  readonly border: number
  /** Mean cosine of the pairs of pieces. */
  readonly pieces: number | null
  /** Mean cosine of unrelated pairs at the same distances in the same prompt. */
  readonly controls: number | null
}

export interface ConvergenceResult {
  readonly pairs: number
  readonly controlPairs: number
  readonly borders: readonly Convergence[]
}

/**
 * Do the pieces of one compound come together? Their pairwise cosine per border beside that of pairs of other tokens
 * of this prompt at the same distances (position 0 left out: it is often a sink). Expected: no. An early piece never
 * sees the later ones, and each predicts its own next token. Throws `bad-request` for fewer than two positions.
 */
export function compoundConvergence(stream: ResidualStream, positions: readonly number[]): ConvergenceResult {
  const unique = [...new Set(positions)].sort((a, b) => a - b)
  if (unique.length < 2)
    throw new HeadscopeError('bad-request', 'A compound needs two positions or more, for instance 4,5.')
  for (const pos of unique) residualAt(stream, 0, pos)
  const length = stream.borders[0]!.length / stream.dModel
  const inside = new Set(unique)
  const pairs = unique.flatMap((a, i) => unique.slice(i + 1).map((b) => [a, b] as const))
  const distances = new Set(pairs.map(([a, b]) => b - a))
  const controls = Array.from({ length }, (_, a) => a).flatMap((a) =>
    [...distances].flatMap((distance) => {
      const b = a + distance
      return a > 0 && b < length && !inside.has(a) && !inside.has(b) ? [[a, b] as const] : []
    }),
  )
  const mean = (border: number, all: readonly (readonly [number, number])[]) => {
    const values = all.flatMap(([a, b]) => {
      const value = cosine(residualAt(stream, border, a), residualAt(stream, border, b))
      return value === null ? [] : [value]
    })
    return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null
  }
  return {
    pairs: pairs.length,
    controlPairs: controls.length,
    borders: stream.borders.map((_, border) => ({
      border,
      pieces: mean(border, pairs),
      controls: mean(border, controls),
    })),
  }
}

/** |x|. */
export function norm(x: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < x.length; i++) sum += x[i]! * x[i]!
  return Math.sqrt(sum)
}

/** a·b / (|a| |b|); null where either is zero. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number | null {
  const size = norm(a) * norm(b)
  if (!(size > 0)) return null
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum / size
}
