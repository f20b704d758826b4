/**
 * ALiBi inside a block: slope · key position, added to the scores of each head. Softmax does not see what all keys of
 * a row share, so only distances count. Key positions are an input; the graph depends on no length.
 */
import type { Builder, Value } from './builder.ts'
import type { AlibiSpec } from './model-spec.ts'

/** Input of key positions as float32 [one, one, one, key]. */
export const KEY_POSITIONS = 'key_positions'

const SCORES = ['batch', 'head', 'query', 'key'] as const
const BFLOAT16 = 16n
const FLOAT = 1n

/** scores [batch, head, query, key] + slope · key position. */
export function addAlibi(g: Builder, scores: Value, alibi: AlibiSpec): Value {
  const axes = ['one', 'head', 'one', 'key'] as const
  const round = (x: Value) => (alibi.bfloat16 ? inBfloat16(g, x) : x)
  const slopes = g.op(
    'Reshape',
    [g.floats(alibi.slopes, ['head']), g.ints([1, alibi.slopes.length, 1, 1])],
    axes,
  )
  const positions = g.input(KEY_POSITIONS, 'f32', ['one', 'one', 'one', 'key'])
  const products = round(g.op('Mul', [round(slopes), round(positions)], axes))
  const added = alibi.scale === 1 ? products : g.op('Mul', [products, g.floats([alibi.scale], ['one'])], axes)
  return g.op('Add', [scores, added], SCORES)
}

/**
 * One slope a head: powers of 2^(-8 / n) for a power of two n, and for other counts those of the next smaller power
 * with every second one of the next larger (the authors' rule, as the reference implementation has it).
 */
export function alibiSlopes(heads: number): number[] {
  const whole = 2 ** Math.floor(Math.log2(heads))
  const powers = (n: number, exponents: readonly number[]) => {
    const base = 2 ** -(2 ** -(Math.log2(n) - 3))
    return exponents.map((exponent) => base ** exponent)
  }
  const first = powers(
    whole,
    Array.from({ length: whole }, (_, i) => i + 1),
  )
  const rest = powers(
    2 * whole,
    Array.from({ length: heads - whole }, (_, i) => 2 * i + 1),
  )
  return [...first, ...rest]
}

// --- Internal helpers ---

/** x rounded to bfloat16 and back. */
function inBfloat16(g: Builder, x: Value): Value {
  const narrow = g.op('Cast', [x], x.axes, { attributes: { to: BFLOAT16 } })
  return g.op('Cast', [narrow], x.axes, { attributes: { to: FLOAT } })
}
