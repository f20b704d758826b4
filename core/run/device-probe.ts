/**
 * A process of its own that tries one device: y = -x through a session on it. Out: `ok`, or one line with the reason,
 * on stdout. A process, because drivers write to stderr and may end the one that loads them.
 */
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

const float = (name: string) =>
  create(ValueInfoProtoSchema, {
    name,
    type: create(TypeProtoSchema, {
      value: { case: 'tensorType', value: create(TypeProto_TensorSchema, { elemType: 1 }) },
    }),
  })
const model = create(ModelProtoSchema, {
  irVersion: 10n,
  opsetImport: [create(OperatorSetIdProtoSchema, { domain: '', version: 21n })],
  graph: create(GraphProtoSchema, {
    name: 'probe',
    node: [create(NodeProtoSchema, { opType: 'Neg', input: ['x'], output: ['y'] })],
    input: [float('x')],
    output: [float('y')],
  }),
})

try {
  const session = await InferenceSession.create(toBinary(ModelProtoSchema, model), {
    executionProviders: [process.argv[2]!],
    logSeverityLevel: 4,
  })
  const { y } = await session.run({ x: new Tensor('float32', [1, 2], [2]) })
  const right = y?.data[0] === -1 && y.data[1] === -2
  process.stdout.write(right ? 'ok' : 'it computed -[1, 2] wrongly')
} catch (error) {
  process.stdout.write((error as Error).message.split('\n')[0]!)
}
