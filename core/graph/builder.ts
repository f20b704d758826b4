/**
 * A typed emitter of computation graphs. In: calls in the order of the computation. Out: a `Graph`, plain frozen
 * data that splice.ts (edits) and encode.ts (ONNX bytes) read. Costs microseconds; nothing is computed here.
 *
 * `hook(name, value)` marks a place that can be read or replaced: it is a node of its own, so that an edit takes
 * its seat and everything after it sees the edited value. A hook that nobody wants leaves no trace in the bytes.
 */
import type { Axis } from './axes.ts'

export type DType = 'f32' | 'i64' | 'bool'

export interface Value {
  readonly id: string
  readonly axes: readonly Axis[]
}

export type Attribute = number | bigint | string | readonly bigint[] // number: FLOAT, bigint: INT

export interface Node {
  readonly op: string
  readonly domain: '' | 'com.microsoft' | 'hook'
  readonly inputs: readonly string[] // '' for an input that is left out
  readonly outputs: readonly string[]
  readonly attributes: Readonly<Record<string, Attribute>>
}

export interface InputDecl {
  readonly name: string
  readonly dtype: DType
  readonly rank: number
}

/** A tensor of the checkpoint, or some of its rows (slices along the first axis are contiguous on disk). */
export interface WeightUse {
  readonly id: string
  readonly tensor: string
  readonly rows: readonly [number, number] | null
}

export interface Constant {
  readonly id: string
  readonly dtype: 'f32' | 'i64'
  readonly shape: readonly number[]
  readonly data: Float32Array | BigInt64Array
}

export interface HookSite {
  readonly name: string
  readonly axes: readonly Axis[]
  readonly input: string // value as computed
  readonly output: string // value as seen by what follows
}

export interface Graph {
  readonly inputs: readonly InputDecl[]
  readonly weights: readonly WeightUse[]
  readonly constants: readonly Constant[]
  readonly nodes: readonly Node[]
  readonly hooks: readonly HookSite[]
  /** Named results beside the hooks: the state handed on, keys and values, reductions of the logits. */
  readonly results: ReadonlyMap<string, string>
  /** Axes of every value. */
  readonly axes: ReadonlyMap<string, readonly Axis[]>
}

export interface Builder {
  /** Hooks that will be edited: a norm whose inside is edited is emitted decomposed. */
  readonly edited: ReadonlySet<string>
  input(name: string, dtype: DType, axes: readonly Axis[]): Value
  weight(tensor: string, axes: readonly Axis[], rows?: readonly [number, number]): Value
  floats(values: readonly number[], axes: readonly Axis[]): Value
  ints(values: readonly number[]): Value
  /** One node with one output. Inputs that are null are left out. */
  op(op: string, inputs: readonly (Value | null)[], axes: readonly Axis[], options?: NodeOptions): Value
  /** One node with several outputs. */
  ops(
    op: string,
    inputs: readonly (Value | null)[],
    axes: readonly (readonly Axis[])[],
    options?: NodeOptions,
  ): Value[]
  hook(name: string, value: Value): Value
  isEdited(name: string): boolean
  result(name: string, value: Value): void
  finish(): Graph
}

export interface NodeOptions {
  readonly domain?: 'com.microsoft'
  readonly attributes?: Readonly<Record<string, Attribute>>
}

/** A builder whose hook names start with `prefix` (`blocks.3.`), for a graph in which `edited` will be replaced. */
export function createBuilder(prefix: string, edited: ReadonlySet<string> = new Set()): Builder {
  const inputs = new Map<string, InputDecl>()
  const weights = new Map<string, WeightUse>()
  const constants: Constant[] = []
  const nodes: Node[] = []
  const hooks: HookSite[] = []
  const results = new Map<string, string>()
  const known = new Map<string, readonly Axis[]>()
  let counter = 0
  const fresh = (stem: string) => `${stem}_${counter++}`
  const typed = (id: string, axes: readonly Axis[]): Value => {
    known.set(id, axes)
    return { id, axes }
  }

  const builder: Builder = {
    edited,
    input(name, dtype, axes) {
      inputs.set(name, { name, dtype, rank: axes.length })
      return typed(name, axes)
    },
    weight(tensor, axes, rows) {
      const id = rows ? `${tensor}[${rows[0]}:${rows[1]}]` : tensor
      weights.set(id, { id, tensor, rows: rows ?? null })
      return typed(id, axes)
    },
    floats(values, axes) {
      const id = fresh('f')
      const shape = axes.length === 0 ? [] : [values.length]
      constants.push({ id, dtype: 'f32', shape, data: Float32Array.from(values) })
      return typed(id, axes)
    },
    ints(values) {
      const id = fresh('i')
      constants.push({ id, dtype: 'i64', shape: [values.length], data: BigInt64Array.from(values, BigInt) })
      return { id, axes: ['one'] }
    },
    op(op, ins, axes, options) {
      return builder.ops(op, ins, [axes], options)[0]!
    },
    ops(op, ins, axes, options) {
      const outs = axes.map((a) => typed(fresh(op), a))
      nodes.push({
        op,
        domain: options?.domain ?? '',
        inputs: ins.map((value) => value?.id ?? ''),
        outputs: outs.map((value) => value.id),
        attributes: options?.attributes ?? {},
      })
      return outs
    },
    hook(name, value) {
      const full = prefix + name
      const out = typed(fresh('hook'), value.axes)
      nodes.push({
        op: full,
        domain: 'hook',
        inputs: [value.id],
        outputs: [out.id],
        attributes: {},
      })
      hooks.push({ name: full, axes: value.axes, input: value.id, output: out.id })
      return out
    },
    isEdited(name) {
      return edited.has(prefix + name)
    },
    result(name, value) {
      results.set(name, value.id)
    },
    finish() {
      return {
        inputs: [...inputs.values()],
        weights: [...weights.values()],
        constants,
        nodes,
        hooks,
        results,
        axes: known,
      }
    },
  }
  return builder
}
