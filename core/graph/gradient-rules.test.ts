/**
 * Every gradient rule against central differences of the operation, written again in float64. Each case is one small
 * graph: y = op(inputs), L = Σ c y; the graph's gradient runs through the runtime.
 */
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { createSessionPool, type Feed } from '../run/session.ts'
import type { Axis } from './axes.ts'
import { type Attribute, type Builder, createBuilder, type Value } from './builder.ts'
import { encode } from './encode.ts'
import { ELEMENTWISE } from './gradient-rules-elementwise.ts'
import { LINEAR } from './gradient-rules-linear.ts'
import { differentiate, gradName } from './gradients.ts'

/** Numbers and their shape, float64. */
interface Array64 {
  readonly shape: readonly number[]
  readonly data: Float64Array
}

interface Case {
  readonly op: string
  readonly title?: string
  /** Axes and shapes of the float inputs x0, x1, …; gradients of those in `of` are checked (default: all). */
  readonly inputs: readonly (readonly [axes: readonly Axis[], shape: readonly number[]])[]
  readonly of?: readonly number[]
  /** Emits the operation. */
  readonly emit: (g: Builder, inputs: readonly Value[]) => Value
  /** The same in float64. */
  readonly value: (inputs: readonly Array64[]) => Array64
  /** Values of an input; default between -2 and 2. */
  readonly range?: readonly [number, number]
  readonly feeds?: ReadonlyMap<string, Feed>
}

const ROWS = ['batch', 'pos', 'd_model'] as const
const ONE = ['batch', 'pos', 'one'] as const
const [B, P, D] = [2, 3, 4] as const
const ROWS_SHAPE = [B, P, D] as const

function numbers(size: number, seed: number, [low, high]: readonly [number, number]): Float64Array {
  // Kept away from 0 and from each other's kinks: rounded to float32, so that both sides see the same numbers.
  return Float64Array.from({ length: size }, (_, i) =>
    Math.fround(low + (high - low) * (0.5 + 0.5 * Math.sin(1.7 * i + seed))),
  )
}

const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1)
const map = (x: Array64, of: (value: number, i: number) => number): Array64 => ({
  shape: x.shape,
  data: x.data.map(of),
})

/** Value of an array at an index of a larger shape: axes of size 1 broadcast. */
function at(x: Array64, index: readonly number[]): number {
  let flat = 0
  x.shape.forEach((size, i) => {
    flat = flat * size + (size === 1 ? 0 : index[i]!)
  })
  return x.data[flat]!
}

function build(shape: readonly number[], of: (index: number[]) => number): Array64 {
  const index = new Array<number>(shape.length).fill(0)
  const data = Float64Array.from({ length: sizeOf(shape) }, () => {
    const value = of(index)
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++index[axis]! < shape[axis]!) break
      index[axis] = 0
    }
    return value
  })
  return { shape, data }
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)

/** erf by its series: exact to float64 for the small arguments here. */
function erf(x: number): number {
  let term = x
  let total = x
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n
    total += term / (2 * n + 1)
  }
  return (2 / Math.sqrt(Math.PI)) * total
}

const microsoft = 'com.microsoft' as const

function unary(
  op: string,
  of: (x: number) => number,
  more: Partial<Case> & { domain?: typeof microsoft; attributes?: Record<string, Attribute> } = {},
): Case {
  const { domain, attributes, ...rest } = more
  return {
    op,
    inputs: [[ROWS, ROWS_SHAPE]],
    emit: (g, [x]) =>
      g.op(op, [x!], ROWS, { ...(domain ? { domain } : {}), ...(attributes ? { attributes } : {}) }),
    value: ([x]) => map(x!, of),
    ...rest,
  }
}

function binary(
  op: string,
  of: (a: number, b: number) => number,
  axes: readonly Axis[],
  shape: readonly number[],
): Case {
  return {
    op,
    title: `broadcast along [${axes.join(', ')}]`,
    inputs: [
      [ROWS, ROWS_SHAPE],
      [axes, shape],
    ],
    range: [0.5, 2],
    emit: (g, [a, b]) => g.op(op, [a!, b!], ROWS),
    value: ([a, b]) => build(ROWS_SHAPE, (index) => of(at(a!, index), at(b!, index))),
  }
}

function layerNorm(x: Array64, gain: Array64, bias: Array64 | null, eps: number): Array64 {
  return build(x.shape, (index) => {
    const row = range(D).map((d) => at(x, [index[0]!, index[1]!, d]))
    const mean = bias ? sum(row) / D : 0
    const variance = sum(row.map((value) => (value - mean) ** 2)) / D
    const d = index[2]!
    return ((row[d]! - mean) / Math.sqrt(variance + eps)) * gain.data[d]! + (bias ? bias.data[d]! : 0)
  })
}

const WIDE = ['batch', 'pos', 'd_mlp'] as const
const GAIN = [['d_model'], [D]] as const
const EPS = 0.25

function reduce(op: 'ReduceMean' | 'ReduceSum', keep: boolean): Case {
  return {
    op,
    title: keep ? 'axis kept' : 'axis dropped',
    inputs: [[ROWS, ROWS_SHAPE]],
    emit: (g, [x]) =>
      g.op(
        op,
        [x!, g.ints([-1])],
        keep ? ONE : ['batch', 'pos'],
        keep ? {} : { attributes: { keepdims: 0n } },
      ),
    value: ([x]) =>
      build(
        keep ? [B, P, 1] : [B, P],
        ([b, p]) => sum(range(D).map((d) => at(x!, [b!, p!, d]))) / (op === 'ReduceMean' ? D : 1),
      ),
  }
}

const HALF = 2
function rotary(interleaved: boolean): Case {
  const heads = 2
  const [size, dims] = [5, 4]
  const angles = (b: number, p: number, j: number) => 0.3 + 0.7 * b + 1.1 * p + 0.5 * j
  const table = (of: (x: number) => number): Feed => ({
    data: Float32Array.from(build([B, P, HALF], ([b, p, j]) => of(angles(b!, p!, j!))).data),
    shape: [B, P, HALF],
  })
  return {
    op: 'RotaryEmbedding',
    title: interleaved ? 'interleaved' : 'halves',
    inputs: [
      [
        ['batch', 'pos', 'd_model'],
        [B, P, heads * size],
      ],
    ],
    feeds: new Map([
      ['cos', table(Math.cos)],
      ['sin', table(Math.sin)],
    ]),
    emit(g, [x]) {
      const side = (name: string) => g.input(name, 'f32', ['batch', 'pos', 'd_head'])
      return g.op('RotaryEmbedding', [x!, side('cos'), side('sin')], ROWS, {
        attributes: {
          interleaved: interleaved ? 1n : 0n,
          num_heads: BigInt(heads),
          rotary_embedding_dim: BigInt(dims),
        },
      })
    },
    value: ([x]) =>
      build([B, P, heads * size], ([b, p, i]) => {
        const [head, d] = [Math.floor(i! / size), i! % size]
        const own = (e: number) => at(x!, [b!, p!, head * size + e])
        if (d >= dims) return own(d)
        const j = interleaved ? Math.floor(d / 2) : d % HALF
        const first = interleaved ? d % 2 === 0 : d < HALF
        const other = interleaved ? (first ? d + 1 : d - 1) : first ? d + HALF : d - HALF
        const [cos, sin] = [
          Math.fround(Math.cos(angles(b!, p!, j))),
          Math.fround(Math.sin(angles(b!, p!, j))),
        ]
        return own(d) * cos + (first ? -own(other) : own(other)) * sin
      }),
  }
}

const ids = (values: readonly number[], shape: readonly number[]): Feed => ({
  data: BigInt64Array.from(values, BigInt),
  shape,
})

const CASES: Case[] = [
  unary('Neg', (x) => -x),
  unary('Identity', (x) => x),
  unary('Sqrt', Math.sqrt, { range: [0.5, 3] }),
  unary('Reciprocal', (x) => 1 / x, { range: [0.5, 3] }),
  unary('Tanh', Math.tanh),
  unary('Sigmoid', (x) => 1 / (1 + Math.exp(-x))),
  unary('Relu', (x) => Math.max(0, x)),
  unary('Gelu', (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)), { domain: microsoft }),
  unary('FastGelu', (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))), {
    domain: microsoft,
  }),
  unary('QuickGelu', (x) => x / (1 + Math.exp(-x)), { domain: microsoft, attributes: { alpha: 1 } }),
  unary('Clip', (x) => Math.max(-0.9, Math.min(0.9, x)), {
    emit: (g, [x]) => g.op('Clip', [x!, g.floats([-0.9], []), g.floats([0.9], [])], ROWS),
  }),
  binary('Add', (a, b) => a + b, ROWS, ROWS_SHAPE),
  binary('Add', (a, b) => a + b, ONE, [B, P, 1]),
  binary('Sub', (a, b) => a - b, ROWS, ROWS_SHAPE),
  binary('Sub', (a, b) => a - b, ONE, [B, P, 1]),
  binary('Mul', (a, b) => a * b, ROWS, ROWS_SHAPE),
  binary('Mul', (a, b) => a * b, ONE, [B, P, 1]),
  binary('Div', (a, b) => a / b, ROWS, ROWS_SHAPE),
  binary('Div', (a, b) => a / b, ONE, [B, P, 1]),
  {
    op: 'Where',
    inputs: [
      [ROWS, ROWS_SHAPE],
      [ROWS, ROWS_SHAPE],
    ],
    of: [1],
    feeds: new Map([
      ['mask', { data: Uint8Array.from(range(B * P * D), (i) => (i % 3 === 0 ? 1 : 0)), shape: ROWS_SHAPE }],
    ]),
    emit: (g, [value, x]) => g.op('Where', [g.input('mask', 'bool', ROWS), value!, x!], ROWS),
    value: ([value, x]) => map(x!, (v, i) => (i % 3 === 0 ? value!.data[i]! : v)),
  },
  {
    op: 'Softmax',
    inputs: [[ROWS, ROWS_SHAPE]],
    emit: (g, [x]) => g.op('Softmax', [x!], ROWS, { attributes: { axis: -1n } }),
    value: ([x]) =>
      build(
        ROWS_SHAPE,
        ([b, p, d]) =>
          Math.exp(at(x!, [b!, p!, d!])) / sum(range(D).map((e) => Math.exp(at(x!, [b!, p!, e])))),
      ),
  },
  {
    op: 'LayerNormalization',
    inputs: [[ROWS, ROWS_SHAPE], GAIN, GAIN],
    of: [0],
    emit: (g, inputs) =>
      g.ops('LayerNormalization', inputs, [ROWS, ONE, ONE], { attributes: { epsilon: EPS, axis: -1n } })[0]!,
    value: ([x, gain, bias]) => layerNorm(x!, gain!, bias!, EPS),
  },
  {
    op: 'SimplifiedLayerNormalization',
    inputs: [[ROWS, ROWS_SHAPE], GAIN],
    of: [0],
    emit: (g, inputs) =>
      g.ops('SimplifiedLayerNormalization', inputs, [ROWS, ONE], {
        attributes: { epsilon: EPS, axis: -1n },
      })[0]!,
    value: ([x, gain]) => layerNorm(x!, gain!, null, EPS),
  },
  reduce('ReduceMean', true),
  reduce('ReduceMean', false),
  reduce('ReduceSum', true),
  reduce('ReduceSum', false),
  {
    op: 'MatMul',
    inputs: [
      [ROWS, ROWS_SHAPE],
      [
        ['batch', 'd_model', 'd_mlp'],
        [B, D, 5],
      ],
    ],
    emit: (g, [a, b]) => g.op('MatMul', [a!, b!], WIDE),
    value: ([a, b]) =>
      build([B, P, 5], ([n, p, o]) => sum(range(D).map((d) => at(a!, [n!, p!, d]) * at(b!, [n!, d, o!])))),
  },
  {
    op: 'FusedMatMul',
    inputs: [
      [ROWS, ROWS_SHAPE],
      [
        ['batch', 'd_mlp', 'd_model'],
        [B, 5, D],
      ],
    ],
    emit: (g, [a, b]) =>
      g.op('FusedMatMul', [a!, b!], WIDE, {
        domain: microsoft,
        attributes: { transA: 0n, transB: 1n, alpha: 0.375 },
      }),
    value: ([a, b]) =>
      build(
        [B, P, 5],
        ([n, p, o]) => 0.375 * sum(range(D).map((d) => at(a!, [n!, p!, d]) * at(b!, [n!, o!, d]))),
      ),
  },
  {
    op: 'Transpose',
    inputs: [
      [
        ['batch', 'pos', 'head', 'd_head'],
        [B, P, 2, 4],
      ],
    ],
    emit: (g, [x]) =>
      g.op('Transpose', [x!], ['batch', 'head', 'd_head', 'pos'], { attributes: { perm: [0n, 2n, 3n, 1n] } }),
    value: ([x]) => build([B, 2, 4, P], ([b, h, d, p]) => at(x!, [b!, p!, h!, d!])),
  },
  {
    op: 'Reshape',
    inputs: [[ROWS, ROWS_SHAPE]],
    emit: (g, [x]) => g.op('Reshape', [x!, g.ints([0, 0, 2, -1])], ['batch', 'pos', 'head', 'd_head']),
    value: ([x]) => ({ shape: [B, P, 2, 2], data: x!.data }),
  },
  {
    op: 'Split',
    inputs: [[ROWS, ROWS_SHAPE]],
    emit(g, [x]) {
      const parts = g.ops('Split', [x!, g.ints([1, 3])], [ONE, ROWS], { attributes: { axis: -1n } })
      return g.op('Mul', [parts[1]!, parts[0]!], ROWS)
    },
    value: ([x]) => build([B, P, 3], ([b, p, d]) => at(x!, [b!, p!, d! + 1]) * at(x!, [b!, p!, 0])),
  },
  {
    op: 'Split',
    title: 'a part that nothing reads',
    inputs: [[ROWS, ROWS_SHAPE]],
    emit: (g, [x]) => g.ops('Split', [x!, g.ints([1, 3])], [ONE, ROWS], { attributes: { axis: -1n } })[1]!,
    value: ([x]) => build([B, P, 3], ([b, p, d]) => at(x!, [b!, p!, d! + 1])),
  },
  {
    op: 'Concat',
    inputs: [
      [ROWS, ROWS_SHAPE],
      [ROWS, [B, 2, D]],
    ],
    emit: (g, [a, b]) => g.op('Concat', [a!, b!], ROWS, { attributes: { axis: 1n } }),
    value: ([a, b]) =>
      build([B, P + 2, D], ([n, p, d]) => (p! < P ? at(a!, [n!, p!, d!]) : at(b!, [n!, p! - P, d!]))),
  },
  rotary(false),
  rotary(true),
  {
    op: 'Gather',
    title: 'a row taken twice',
    inputs: [
      [
        ['pos', 'd_model'],
        [P, D],
      ],
    ],
    feeds: new Map([['rows', ids([2, 0, 2, 1], [4])]]),
    emit: (g, [x]) =>
      g.op('Gather', [x!, g.input('rows', 'i64', ['pos'])], ['pos', 'd_model'], { attributes: { axis: 0n } }),
    value: ([x]) => build([4, D], ([i, d]) => at(x!, [[2, 0, 2, 1][i!]!, d!])),
  },
  {
    op: 'GatherElements',
    inputs: [[ROWS, ROWS_SHAPE]],
    feeds: new Map([['at', ids([3, 3, 0, 1, 2, 2, 1, 0, 3, 1, 0, 2], [B, P, 2])]]),
    emit: (g, [x]) =>
      g.op('GatherElements', [x!, g.input('at', 'i64', ROWS)], ROWS, { attributes: { axis: -1n } }),
    value: ([x]) => {
      const places = [3, 3, 0, 1, 2, 2, 1, 0, 3, 1, 0, 2]
      return build([B, P, 2], ([b, p, i]) => at(x!, [b!, p!, places[(b! * P + p!) * 2 + i!]!]))
    },
  },
  {
    op: 'ScatterElements',
    title: 'into zeros',
    inputs: [[ROWS, [B, P, 2]]],
    feeds: new Map<string, Feed>([
      ['at', ids([3, 1, 0, 1, 2, 3, 1, 0, 3, 1, 0, 2], [B, P, 2])],
      ['zeros', { data: new Float32Array(B * P * D), shape: ROWS_SHAPE }],
    ]),
    emit: (g, [x]) =>
      g.op('ScatterElements', [g.input('zeros', 'f32', ROWS), g.input('at', 'i64', ROWS), x!], ROWS, {
        attributes: { axis: -1n, reduction: 'add' },
      }),
    value: ([x]) => {
      const places = [3, 1, 0, 1, 2, 3, 1, 0, 3, 1, 0, 2]
      return build(ROWS_SHAPE, ([b, p, d]) =>
        sum([0, 1].map((i) => (places[(b! * P + p!) * 2 + i] === d ? at(x!, [b!, p!, i]) : 0))),
      )
    },
  },
  {
    op: 'ScatterND',
    title: 'rows added to others',
    inputs: [
      [
        ['pos', 'd_model'],
        [P, D],
      ],
      [
        ['pos', 'd_model'],
        [2, D],
      ],
    ],
    feeds: new Map([['rows', ids([2, 0], [2, 1])]]),
    emit: (g, [into, x]) =>
      g.op('ScatterND', [into!, g.input('rows', 'i64', ['pos', 'one']), x!], ['pos', 'd_model'], {
        attributes: { reduction: 'add' },
      }),
    value: ([into, x]) =>
      build(
        [P, D],
        ([p, d]) => at(into!, [p!, d!]) + (p === 2 ? at(x!, [0, d!]) : p === 0 ? at(x!, [1, d!]) : 0),
      ),
  },
]

const folder = tmpdir()
const pool = createSessionPool({ folder, threads: 1, device: 'cpu', mode: 'explore', check: () => {} })
afterAll(() => pool.close())

test('every rule has a case', () => {
  const covered = new Set(CASES.map(({ op }) => op))
  expect(Object.keys({ ...ELEMENTWISE, ...LINEAR }).filter((op) => !covered.has(op))).toEqual([])
})

test.each(CASES.map((one, i) => ({ ...one, i, title: one.title ?? '' })))(
  '$op $title',
  async ({ i, op, inputs, of, emit, value, range: span = [-2, 2], feeds }) => {
    const g = createBuilder('')
    const names = inputs.map((_, n) => `x${n}`)
    const y = emit(
      g,
      names.map((name, n) => g.input(name, 'f32', inputs[n]![0])),
    )
    g.result('y', y)
    const asked = of ?? inputs.map((_, n) => n)
    const { graph } = differentiate(
      g.finish(),
      null,
      ['y'],
      asked.map((n) => names[n]!),
    )
    const given = inputs.map(
      ([, shape], n): Array64 => ({ shape, data: numbers(sizeOf(shape), n + 0.3, span) }),
    )
    const expected = value(given)
    const weights = numbers(expected.data.length, 5, [-1, 1])
    const all = new Map<string, Feed>([
      ...(feeds ?? []),
      ...given.map(({ data, shape }, n) => [names[n]!, { data: Float32Array.from(data), shape }] as const),
      [gradName('y'), { data: Float32Array.from(weights), shape: expected.shape }],
    ])
    const wanted = ['y', ...asked.map((n) => gradName(names[n]!))]
    const outputs = await pool.run(
      `${i}`,
      () => encode(graph, wanted, { folder, tensors: new Map() } as never),
      all,
    )
    close(outputs.get('y')!.data as Float32Array, expected.data, `${op} forward`)

    const loss = (arrays: readonly Array64[]) =>
      sum(Array.from(value(arrays).data, (v, k) => v * weights[k]!))
    const step = 1e-5
    for (const n of asked) {
      const slopes = Float64Array.from(given[n]!.data, (_, k) => {
        const moved = (by: number) =>
          loss(given.map((x, m) => (m === n ? map(x, (v, j) => (j === k ? v + by : v)) : x)))
        return (moved(step) - moved(-step)) / (2 * step)
      })
      close(outputs.get(gradName(names[n]!))!.data as Float32Array, slopes, `${op} by x${n}`)
    }
  },
)

/** Within 1e-5 of the largest value. */
function close(ours: Float32Array, reference: Float64Array, what: string): void {
  expect(ours.length, what).toBe(reference.length)
  const largest = Math.max(...Array.from(reference, Math.abs))
  const error = Math.max(...Array.from(reference, (v, i) => Math.abs(v - ours[i]!)))
  expect(error / Math.max(largest, 1e-3), what).toBeLessThan(1e-5)
}
