/**
 * T5's bias by distance (Raffel et al. 1910.10683): key position minus query position falls into a bucket, and each
 * bucket has a number a head. Positions are inputs; the graph holds a table of the buckets of every distance up to the
 * longest that is told apart, so that it depends on no length and no logarithm is taken at run time.
 */
import type { Builder, Value } from './builder.ts'
import type { RelativeBiasSpec } from './model-spec.ts'

/** Inputs of positions, int64 [query] and [key]. */
export const RELATIVE_QUERY = 'relative.query'
export const RELATIVE_KEY = 'relative.key'

const BIAS = ['one', 'head', 'query', 'key'] as const

/** The bias of every head [one, head, query, key]; `weight` is [buckets, head]. */
export function relativeBias(g: Builder, spec: RelativeBiasSpec, causal: boolean, weight: string): Value {
  const { maxDistance } = spec
  const query = g.input(RELATIVE_QUERY, 'i64', ['query'])
  const key = g.input(RELATIVE_KEY, 'i64', ['key'])
  const column = g.op('Unsqueeze', [query, g.ints([1])], ['query', 'one'])
  const distance = g.op('Sub', [key, column], ['query', 'key'])
  const low = g.op('Max', [distance, g.ints([-maxDistance])], ['query', 'key'])
  const near = g.op('Min', [low, g.ints([maxDistance])], ['query', 'key'])
  const row = g.op('Add', [near, g.ints([maxDistance])], ['query', 'key'])
  const table = g.ints(
    Array.from({ length: 2 * maxDistance + 1 }, (_, i) => bucketOf(i - maxDistance, spec, causal)),
  )
  const bucket = g.op('Gather', [table, row], ['query', 'key'])
  const values = g.op('Gather', [g.weight(weight, ['d_vocab', 'head']), bucket], ['query', 'key', 'head'])
  const heads = g.op('Transpose', [values], ['head', 'query', 'key'], { attributes: { perm: [2n, 0n, 1n] } })
  return g.op('Unsqueeze', [heads, g.ints([0])], BIAS)
}

/**
 * The bucket of a distance (key minus query): half of the buckets hold one distance each, the others grow
 * logarithmically up to maxDistance. Both directions have their own half where a stack looks ahead. Rounded to float32
 * step by step, as the reference does it.
 */
export function bucketOf(distance: number, spec: RelativeBiasSpec, causal: boolean): number {
  const buckets = causal ? spec.buckets : Math.floor(spec.buckets / 2)
  const side = !causal && distance > 0 ? buckets : 0
  const away = causal ? Math.max(0, -distance) : Math.abs(distance)
  const exact = Math.floor(buckets / 2)
  if (away < exact) return side + away
  const f = Math.fround
  const share = f(f(Math.log(f(away / exact))) / f(Math.log(spec.maxDistance / exact)))
  const far = exact + Math.trunc(f(share * (buckets - exact)))
  return side + Math.min(far, buckets - 1)
}
