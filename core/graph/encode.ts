/**
 * Graph → ONNX bytes. In: a graph, the hooks and results wanted, where the weights lie. Out: a few kilobytes that
 * hold exactly what the wanted outputs need; weights are external data named by file, offset and length.
 */
import { create, toBinary } from '@bufbuild/protobuf'
import {
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProto_DataLocation,
  TensorProto_DataType,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import type { WeightFiles } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Attribute, DType, Graph, Node, WeightUse } from './builder.ts'

const OPSET = 23n
const IR_VERSION = 10n

export interface Encoded {
  readonly bytes: Uint8Array
  readonly inputs: readonly string[] // exactly the inputs that must be fed
  readonly outputs: readonly string[] // hook and result names
  /** Wanted names that are another output, or an input as it was fed: nothing is computed or copied for them. */
  readonly shared: ReadonlyMap<string, { readonly output: string } | { readonly input: string }>
}

/**
 * Bytes for exactly `wanted` (hook names, result names). Throws `internal` for a name that the graph lacks.
 */
export function encode(graph: Graph, wanted: readonly string[], weights: WeightFiles): Encoded {
  const outputs = wanted.map((name) => ({ name, id: outputId(graph, name) }))
  const nodes = needed(graph.nodes, new Set(outputs.map((o) => o.id)))
  const alias = aliases(nodes)
  const kernels = nodes.filter((node) => node.domain !== 'hook').map((node) => renameInputs(node, alias))
  const { nodes: real, shared } = nameOutputs(
    kernels,
    outputs.map(({ name, id }) => ({ name, id: alias.get(id) ?? id })),
    new Set(graph.inputs.map((input) => input.name)),
  )
  const computed = outputs.filter(({ name }) => !shared.has(name))

  const used = new Set(real.flatMap((node) => node.inputs))
  for (const source of shared.values()) if ('input' in source) used.add(source.input)
  const inputs = graph.inputs.filter((input) => used.has(input.name))
  const producedAs = new Map(graph.hooks.map((hook) => [hook.name, hook.axes.length]))
  const model = create(ModelProtoSchema, {
    irVersion: IR_VERSION,
    producerName: 'headscope',
    opsetImport: [
      create(OperatorSetIdProtoSchema, { domain: '', version: OPSET }),
      create(OperatorSetIdProtoSchema, { domain: 'com.microsoft', version: 1n }),
    ],
    graph: create(GraphProtoSchema, {
      name: 'block',
      node: real.map(nodeProto),
      input: inputs.map((input) => valueInfo(input.name, input.dtype, input.rank)),
      output: computed.map(({ name }) => valueInfo(name, resultType(name), producedAs.get(name) ?? null)),
      initializer: [
        ...graph.weights.filter((w) => used.has(w.id)).map((w) => externalTensor(w, weights)),
        ...graph.constants
          .filter((c) => used.has(c.id))
          .map((c) =>
            create(TensorProtoSchema, {
              name: c.id,
              dims: c.shape.map(BigInt),
              dataType: c.dtype === 'f32' ? TensorProto_DataType.FLOAT : TensorProto_DataType.INT64,
              rawData: new Uint8Array(
                c.data.buffer,
                c.data.byteOffset,
                c.data.byteLength,
              ) as Uint8Array<ArrayBuffer>,
            }),
          ),
      ],
    }),
  })
  return {
    bytes: toBinary(ModelProtoSchema, model),
    inputs: inputs.map((input) => input.name),
    outputs: wanted,
    shared,
  }
}

// --- Internal helpers ---

function outputId(graph: Graph, name: string): string {
  const hook = graph.hooks.find((site) => site.name === name)
  const id = hook?.output ?? graph.results.get(name)
  if (id === undefined)
    throw new HeadscopeError('internal', `${name} is neither a hook nor a result of this graph.`)
  return id
}

/** The nodes that the wanted values depend on, in order. */
function needed(nodes: readonly Node[], wanted: Set<string>): Node[] {
  const live = new Set(wanted)
  const kept: Node[] = []
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i]!
    if (!node.outputs.some((output) => live.has(output))) continue
    for (const input of node.inputs) live.add(input)
    // Every output of a Split is one of its parts: none can be left out.
    kept.unshift(node.op === 'Split' ? node : { ...node, outputs: trimmed(node.outputs, live) })
  }
  return kept
}

/** Optional outputs (all but the first) that nobody reads are left out, so that the kernel does not make them. */
function trimmed(outputs: readonly string[], live: ReadonlySet<string>): string[] {
  const kept = outputs.map((output, i) => (i === 0 || live.has(output) ? output : ''))
  while (kept.length > 1 && kept.at(-1) === '') kept.pop()
  return kept
}

/** Hook nodes are names only: what reads their output reads their input. */
function aliases(nodes: readonly Node[]): Map<string, string> {
  const alias = new Map<string, string>()
  for (const node of nodes) {
    if (node.domain !== 'hook') continue
    const input = node.inputs[0]!
    alias.set(node.outputs[0]!, alias.get(input) ?? input)
  }
  return alias
}

function renameInputs(node: Node, alias: ReadonlyMap<string, string>): Node {
  return { ...node, inputs: node.inputs.map((input) => alias.get(input) ?? input) }
}

/**
 * Gives wanted values their output names where they are computed, without a copy. A value that is wanted under a
 * second name, or that is an input of the graph, is shared; a weight or constant is copied.
 */
function nameOutputs(
  nodes: readonly Node[],
  outputs: readonly { name: string; id: string }[],
  inputs: ReadonlySet<string>,
): { nodes: Node[]; shared: Encoded['shared'] } {
  const produced = new Set(nodes.flatMap((node) => node.outputs))
  const names = new Map<string, string>()
  const shared = new Map<string, { output: string } | { input: string }>()
  const copies: Node[] = []
  for (const { name, id } of outputs) {
    if (names.has(id)) shared.set(name, { output: names.get(id)! })
    else if (produced.has(id)) names.set(id, name)
    else if (inputs.has(id)) shared.set(name, { input: id })
    else copies.push(identity(id, name))
  }
  const named = (id: string) => names.get(id) ?? id
  const renamed = nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map(named),
    outputs: node.outputs.map(named),
  }))
  return { nodes: [...renamed, ...copies], shared }
}

function identity(input: string, output: string): Node {
  return { op: 'Identity', domain: '', inputs: [input], outputs: [output], attributes: {} }
}

function nodeProto(node: Node) {
  return create(NodeProtoSchema, {
    opType: node.op,
    domain: node.domain,
    input: [...node.inputs],
    output: [...node.outputs],
    attribute: Object.entries(node.attributes).map(([name, value]) => attributeProto(name, value)),
  })
}

function attributeProto(name: string, value: Attribute) {
  if (typeof value === 'bigint')
    return create(AttributeProtoSchema, { name, type: AttributeType.INT, i: value })
  if (typeof value === 'number')
    return create(AttributeProtoSchema, { name, type: AttributeType.FLOAT, f: value })
  if (typeof value === 'string')
    return create(AttributeProtoSchema, {
      name,
      type: AttributeType.STRING,
      s: new TextEncoder().encode(value),
    })
  return create(AttributeProtoSchema, { name, type: AttributeType.INTS, ints: [...value] })
}

const ELEM_TYPE: Record<DType, number> = {
  f32: TensorProto_DataType.FLOAT,
  i64: TensorProto_DataType.INT64,
  bool: TensorProto_DataType.BOOL,
}

/** Results that hold token ids are int64; everything else is float32. */
function resultType(name: string): DType {
  return name === 'top_ids' ? 'i64' : 'f32'
}

function valueInfo(name: string, dtype: DType, rank: number | null) {
  const shape =
    rank === null
      ? {}
      : {
          shape: create(TensorShapeProtoSchema, {
            dim: Array.from({ length: rank }, () => create(TensorShapeProto_DimensionSchema, {})),
          }),
        }
  return create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, {
      value: {
        case: 'tensorType',
        value: create(TypeProto_TensorSchema, { elemType: ELEM_TYPE[dtype], ...shape }),
      },
    }),
  })
}

function externalTensor(use: WeightUse, weights: WeightFiles): TensorProto {
  const slice = weights.tensors.get(use.tensor)
  if (!slice) throw new HeadscopeError('internal', `${use.tensor} was not bound to a file.`)
  const rowBytes = slice.bytes / slice.shape[0]!
  const [first, end] = use.rows ?? [0, slice.shape[0]!]
  const entry = (key: string, value: string | number) =>
    create(StringStringEntryProtoSchema, { key, value: String(value) })
  return create(TensorProtoSchema, {
    name: use.id,
    dims: [end - first, ...slice.shape.slice(1)].map(BigInt),
    dataType: TensorProto_DataType.FLOAT,
    dataLocation: TensorProto_DataLocation.EXTERNAL,
    externalData: [
      entry('location', slice.location),
      entry('offset', slice.offset + first * rowBytes),
      entry('length', (end - first) * rowBytes),
    ],
  })
}
