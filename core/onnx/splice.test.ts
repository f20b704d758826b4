/** Edits in hand-made graphs: halves are edited in float32, several stand in order, and what cannot be edited is said. */
import { create, toBinary } from '@bufbuild/protobuf'
import {
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { expect, test } from 'vitest'
import { type OnnxFile, withOutputs } from './file.ts'
import { type TensorSlot, valueAfter, withEdits } from './splice.ts'

const FLOAT = 1

/** x → Cast → doubled (float or half) → Cast → y; and a norm that also sums. */
function file(elemType: number): OnnxFile {
  const info = (name: string) =>
    create(ValueInfoProtoSchema, {
      name,
      type: create(TypeProtoSchema, {
        value: { case: 'tensorType', value: create(TypeProto_TensorSchema, { elemType: FLOAT }) },
      }),
    })
  const node = (opType: string, input: string[], output: string[], to?: number) =>
    create(NodeProtoSchema, {
      opType,
      input,
      output,
      attribute: to === undefined ? [] : [{ name: 'to', type: 2, i: BigInt(to) }],
    })
  const graph = create(GraphProtoSchema, {
    name: 'g',
    input: [info('x')],
    output: [info('y')],
    node: [
      node('Cast', ['x'], ['half'], elemType),
      node('Add', ['half', 'half'], ['doubled']),
      node('Cast', ['doubled'], ['y'], FLOAT),
    ],
  })
  const model = create(ModelProtoSchema, {
    irVersion: 10n,
    opsetImport: [create(OperatorSetIdProtoSchema, { domain: '', version: 20n })],
    graph,
  })
  const bytes = toBinary(ModelProtoSchema, model)
  return { path: '', folder: '', name: 'g.onnx', bytes, model, graph, opset: 20, producer: '', external: [] }
}

async function run(bytes: Uint8Array, feeds: Record<string, Tensor>, fetch: string[]) {
  const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 })
  const outputs = await session.run(feeds, fetch)
  await session.release()
  return fetch.map((name) => Array.from(outputs[name]!.data as Float32Array, Number))
}

test.each([
  ['float32', 1],
  ['float16', 10],
] as const)('edits of a %s tensor, in order', async (type, elemType) => {
  const slots: TensorSlot[] = [
    { tensor: 'doubled', kind: 'scale', type },
    { tensor: 'doubled', kind: 'set', type },
    { tensor: 'doubled', kind: 'add', type },
  ]
  const edited = withEdits(file(elemType), slots)
  const first = valueAfter('doubled', slots, 1)
  const bytes = withOutputs(edited, ['doubled', first])
  const feeds = {
    x: new Tensor('float32', [1, 2, 3], [3]),
    'edit.0.value': new Tensor('float32', [10], [1]),
    'edit.1.value': new Tensor('float32', [7], [1]),
    'edit.1.mask': new Tensor('bool', [false, true, false], [3]),
    'edit.2.value': new Tensor('float32', [0.5], [1]),
  }
  const [y, seen, scaled] = await run(bytes, feeds, ['y', 'doubled', first])
  expect(scaled).toEqual([20, 40, 60])
  expect(seen).toEqual([20.5, 7.5, 60.5])
  expect(y).toEqual([20.5, 7.5, 60.5])
})

test('no edits, no change; the value before the first', () => {
  const plain = file(FLOAT)
  expect(withEdits(plain, [])).toBe(plain)
  const slots: TensorSlot[] = [{ tensor: 'doubled', kind: 'add', type: 'float32' }]
  expect(valueAfter('doubled', slots, 0)).not.toBe('doubled')
  expect(valueAfter('doubled', slots, 1)).toBe('doubled')
  expect(valueAfter('half', slots, 0)).toBe('half')
})

test('what no operation makes, and a sum inside a norm, are refused', () => {
  const slot = (tensor: string): TensorSlot => ({ tensor, kind: 'add', type: 'float32' })
  expect(() => withEdits(file(FLOAT), [slot('x')])).toThrow('x is not made by an operation of g.onnx')
  const summed = file(FLOAT)
  const norm = create(NodeProtoSchema, {
    opType: 'SkipSimplifiedLayerNormalization',
    domain: 'com.microsoft',
    input: ['x', 'doubled', 'w'],
    output: ['normed', '', '', 'sum'],
  })
  const graph = { ...summed.graph, node: [...summed.graph.node, norm] }
  expect(() => withEdits({ ...summed, graph }, [slot('sum')])).toThrow('would not reach the norm')
})
