/** What graphs want to be fed, by the names and shapes of their inputs. */
import { create } from '@bufbuild/protobuf'
import {
  GraphProtoSchema,
  TensorShapeProto_DimensionSchema,
  TensorShapeProtoSchema,
  TypeProto_TensorSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf'
import { expect, test } from 'vitest'
import { feederOf } from './inputs.ts'

const [FLOAT, HALF, INT64, INT32, BOOL] = [1, 10, 7, 6, 9]

function graph(inputs: Readonly<Record<string, readonly [number, readonly (number | string)[]]>>) {
  return create(GraphProtoSchema, {
    input: Object.entries(inputs).map(([name, [elemType, dims]]) =>
      create(ValueInfoProtoSchema, {
        name,
        type: create(TypeProtoSchema, {
          value: {
            case: 'tensorType',
            value: create(TypeProto_TensorSchema, {
              elemType,
              shape: create(TensorShapeProtoSchema, {
                dim: dims.map((dim) =>
                  create(TensorShapeProto_DimensionSchema, {
                    value:
                      typeof dim === 'number'
                        ? { case: 'dimValue', value: BigInt(dim) }
                        : { case: 'dimParam', value: dim },
                  }),
                ),
              }),
            }),
          },
        }),
      }),
    ),
  })
}

const ids = ['batch_size', 'sequence_length'] as const

test('as Optimum and onnxruntime-genai name them: mask, positions, empty past', () => {
  const { feeds, length } = feederOf(
    graph({
      input_ids: [INT64, ids],
      attention_mask: [INT64, ['batch_size', 'total_sequence_length']],
      position_ids: [INT32, ids],
      'past_key_values.0.key': [HALF, ['batch_size', 2, 'past_sequence_length', 8]],
      'past_key_values.0.value': [FLOAT, ['batch_size', 2, 'past_sequence_length', 8]],
      use_cache_branch: [BOOL, [1]],
    }),
    'model.onnx',
  )
  expect(length).toBeNull()
  const fed = feeds([4, 5, 6])
  expect(fed.get('input_ids')).toMatchObject({ shape: [1, 3], data: BigInt64Array.of(4n, 5n, 6n) })
  expect(fed.get('attention_mask')).toMatchObject({ shape: [1, 3], data: BigInt64Array.of(1n, 1n, 1n) })
  expect(fed.get('position_ids')).toMatchObject({ type: 'int32', data: Int32Array.of(0, 1, 2) })
  expect(fed.get('past_key_values.0.key')).toMatchObject({ type: 'float16', shape: [1, 2, 0, 8] })
  expect(fed.get('past_key_values.0.value')!.data).toEqual(new Float32Array(0))
  expect(fed.get('use_cache_branch')!.data).toEqual(Uint8Array.of(0))
})

test('a past of keys and values together, and a fixed length', () => {
  const { feeds, length } = feederOf(
    graph({ input_ids: [INT64, [1, 4]], past_0: [FLOAT, [2, 'batch', 4, 'past_sequence', 8]] }),
    'old.onnx',
  )
  expect(length).toBe(4)
  expect(feeds([1, 2, 3, 4]).get('past_0')!.shape).toEqual([2, 1, 4, 0, 8])
  expect(() => feeds([1, 2])).toThrow(/^old\.onnx takes exactly 4 tokens, but the prompt has 2/)
})

test('what nobody knows is refused by name', () => {
  expect(() => feederOf(graph({ pixels: [FLOAT, [1, 3, 8, 8]] }), 'x.onnx')).toThrow('no input of token ids')
  expect(() => feederOf(graph({ input_ids: [INT64, ids], lora: [FLOAT, [4]] }), 'x.onnx')).toThrow(
    'wants the input lora [4]',
  )
  expect(() => feederOf(graph({ input_ids: [INT64, [2, 'n']] }), 'x.onnx')).toThrow('one prompt at a time')
})
