/**
 * A file's graph + edits → bytes in which they are computed. An edit takes the seat of a tensor: what made the tensor
 * makes it under another name, and the edited value stands under its own, so that everything that reads it sees the
 * edit. What an edit does is data fed at run time (`slotInput`). The file itself is never written. Costs its size in
 * memory once, since its bytes are made anew.
 */
import { create, toBinary } from '@bufbuild/protobuf'
import {
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  type GraphProto,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  TensorProto_DataType,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import { HeadscopeError } from '../errors.ts'
import { type EditSlot, slotInput } from '../graph/splice.ts'
import type { OnnxFile } from './file.ts'

/** One replaced tensor; the inputs broadcast against it, as in graph/splice.ts. */
export interface TensorSlot {
  readonly tensor: string
  readonly kind: EditSlot['kind']
  /** Of the tensor; edits are computed in float32 either way. */
  readonly type: 'float32' | 'float16'
}

/** The file with the slots in it, in their order. Throws `bad-edit` for a tensor that no operation of the graph makes. */
export function withEdits(file: OnnxFile, slots: readonly TensorSlot[]): OnnxFile {
  if (slots.length === 0) return file
  const chains = new Map<string, NodeProto[]>()
  for (const tensor of new Set(slots.map((slot) => slot.tensor))) {
    const maker = file.graph.node.find((node) => node.output.includes(tensor))
    if (maker && maker.output.indexOf(tensor) > 0 && /^Skip.*Normalization$/.test(maker.opType))
      throw new HeadscopeError(
        'bad-edit',
        `${tensor} of ${file.name} is summed and normed in one operation (${maker.opType}), so an edit of the sum would not reach the norm; open the checkpoint's folder (config.json and safetensors) for that.`,
      )
    if (!maker)
      throw new HeadscopeError(
        'bad-edit',
        `${tensor} is not made by an operation of ${file.name}, so nothing can stand in its place; edit a tensor that is computed.`,
      )
    chains.set(tensor, chainOf(tensor, slots))
  }
  const node = file.graph.node.flatMap((one) => {
    const edited = one.output.filter((output) => chains.has(output))
    if (edited.length === 0) return [one]
    const output = one.output.map((name) => (chains.has(name) ? unedited(name) : name))
    return [{ ...one, output }, ...edited.flatMap((name) => chains.get(name)!)]
  })
  const inputs = slots.flatMap((slot, n) => [
    valueInfo(slotInput(n, 'value'), TensorProto_DataType.FLOAT),
    ...(slot.kind === 'set' ? [valueInfo(slotInput(n, 'mask'), TensorProto_DataType.BOOL)] : []),
  ])
  const graph: GraphProto = { ...file.graph, node, input: [...file.graph.input, ...inputs] }
  return { ...file, graph, bytes: toBinary(ModelProtoSchema, { ...file.model, graph }) }
}

/** The name of a tensor's value after the first `count` of its slots: 0 is the value as it was computed. */
export function valueAfter(tensor: string, slots: readonly TensorSlot[], count: number): string {
  const own = slots.flatMap((slot, n) => (slot.tensor === tensor ? [n] : []))
  if (count >= own.length) return tensor
  return count === 0 ? unedited(tensor) : `${slotInput(own[count - 1]!, 'value')}.out`
}

// --- Internal helpers ---

function unedited(tensor: string): string {
  return `${tensor} unedited`
}

/** From the unedited value to the edited one, in float32. */
function chainOf(tensor: string, slots: readonly TensorSlot[]): NodeProto[] {
  const own = slots.flatMap((slot, n) => (slot.tensor === tensor ? [{ ...slot, n }] : []))
  const half = own[0]!.type === 'float16'
  const first = half ? `${tensor} as float` : unedited(tensor)
  const last = half ? `${tensor} edited` : tensor
  let before = first
  const steps = own.map(({ kind, n }, i) => {
    const after = i === own.length - 1 ? last : `${slotInput(n, 'value')}.out`
    const value = slotInput(n, 'value')
    const step =
      kind === 'set'
        ? node('Where', [slotInput(n, 'mask'), value, before], after)
        : node(kind === 'scale' ? 'Mul' : 'Add', [before, value], after)
    before = after
    return step
  })
  if (!half) return steps
  const { FLOAT, FLOAT16 } = TensorProto_DataType
  return [cast(unedited(tensor), first, FLOAT), ...steps, cast(last, tensor, FLOAT16)]
}

function node(opType: string, input: string[], output: string): NodeProto {
  return create(NodeProtoSchema, { opType, input, output: [output] })
}

function cast(input: string, output: string, to: number): NodeProto {
  return create(NodeProtoSchema, {
    opType: 'Cast',
    input: [input],
    output: [output],
    attribute: [create(AttributeProtoSchema, { name: 'to', type: AttributeType.INT, i: BigInt(to) })],
  })
}

/** An input of any shape. */
function valueInfo(name: string, elemType: number) {
  return create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, {
      value: { case: 'tensorType', value: create(TypeProto_TensorSchema, { elemType }) },
    }),
  })
}
