/** Structure on hand-made graphs: fused blocks as onnxruntime-genai writes them, attention alone, and no attention. */
import { create } from '@bufbuild/protobuf'
import { GraphProtoSchema, NodeProtoSchema, TensorProtoSchema, ValueInfoProtoSchema } from 'onnx-buf'
import { expect, test } from 'vitest'
import { flowOf } from './flow.ts'
import { recognise } from './recognise.ts'

type Row = readonly [op: string, inputs: readonly string[], outputs: readonly string[], domain?: string]

/** A graph over `ids`; names that begin with w are weights. */
function found(rows: readonly Row[]) {
  const weights = new Set(rows.flatMap(([, inputs]) => inputs.filter((input) => input.startsWith('w'))))
  const graph = create(GraphProtoSchema, {
    input: [create(ValueInfoProtoSchema, { name: 'ids' })],
    initializer: [...weights].map((name) => create(TensorProtoSchema, { name })),
    node: rows.map(([opType, input, output, domain = '']) =>
      create(NodeProtoSchema, {
        opType,
        domain,
        input: [...input],
        output: [...output],
        attribute: opType === 'Transpose' ? [{ name: 'perm', type: 7, ints: [0n, 2n, 1n, 3n] }] : [],
      }),
    ),
  })
  const { taps, ...rest } = recognise(flowOf(graph))
  return { ...rest, taps: Object.fromEntries(taps.map(({ hook, tensor }) => [hook, tensor])) }
}

const MS = 'com.microsoft'
const SKIP = 'SkipSimplifiedLayerNormalization'

test('grouped-query attention and sums inside norms', () => {
  const { layers, fused, taps } = found([
    ['Gather', ['wE', 'ids'], ['x0']],
    ['SimplifiedLayerNormalization', ['x0', 'wg'], ['n0']],
    ['MatMul', ['n0', 'wqkv'], ['qkv']],
    ['GroupQueryAttention', ['qkv', '', ''], ['mixed'], MS],
    ['MatMul', ['mixed', 'wo'], ['o']],
    [SKIP, ['x0', 'o', 'wg'], ['n1', '', '', 'mid'], MS],
    ['MatMul', ['n1', 'wmlp'], ['m']],
    [SKIP, ['mid', 'm', 'wg'], ['n2', '', '', 'post'], MS],
    ['MatMul', ['n2', 'wU'], ['logits']],
  ])
  expect(layers).toBe(1)
  expect(fused).toEqual([{ layer: 0, op: 'com.microsoft GroupQueryAttention' }])
  expect(taps).toEqual({
    'blocks.0.hook_resid_pre': 'x0',
    'blocks.0.hook_attn_out': 'o',
    'blocks.0.hook_resid_mid': 'mid',
    'blocks.0.hook_mlp_out': 'm',
    'blocks.0.hook_resid_post': 'post',
  })
})

test('attention in steps, with casts, a mask and a bias on its output', () => {
  const { fused, taps, observable } = found([
    ['Gather', ['wE', 'ids'], ['x0']],
    ['MatMul', ['x0', 'wq'], ['q']],
    ['MatMul', ['x0', 'wk'], ['k']],
    ['MatMul', ['x0', 'wv'], ['v']],
    ['Shape', ['ids'], ['shape']],
    ['MatMul', ['q', 'k'], ['products']],
    ['Div', ['products', 'wscale'], ['scaled']],
    ['Add', ['scaled', 'wmask'], ['scores']],
    ['Softmax', ['scores'], ['pattern']],
    ['Cast', ['pattern'], ['cast']],
    ['MatMul', ['cast', 'v'], ['mixed']],
    ['MatMul', ['mixed', 'wo'], ['o']],
    ['Add', ['o', 'wb'], ['ob']],
    ['Add', ['x0', 'ob'], ['mid']],
    ['MatMul', ['mid', 'wU'], ['logits']],
  ])
  expect(fused).toEqual([])
  expect(taps).toMatchObject({
    'blocks.0.attn.hook_attn_scores': 'scores',
    'blocks.0.attn.hook_pattern': 'pattern',
    'blocks.0.hook_resid_pre': 'x0',
    'blocks.0.hook_attn_out': 'ob',
    'blocks.0.hook_resid_mid': 'mid',
  })
  expect(observable).toContain('products')
  expect(observable).not.toContain('shape')
})

test('a parallel MLP that joins after attention; heads of all prompts in one list', () => {
  const { taps } = found([
    ['Gather', ['wE', 'ids'], ['x0']],
    ['LayerNormalization', ['x0', 'wg'], ['n0']],
    ['MatMul', ['n0', 'wq'], ['q']],
    ['MatMul', ['n0', 'wk'], ['k']],
    ['MatMul', ['n0', 'wv'], ['v']],
    ['MatMul', ['q', 'k'], ['products']],
    ['Softmax', ['products'], ['pattern']],
    ['MatMul', ['pattern', 'v'], ['mixed']],
    ['Reshape', ['mixed', 'wshape'], ['apart']],
    ['Transpose', ['apart'], ['z']],
    ['MatMul', ['z', 'wo'], ['o']],
    ['MatMul', ['n0', 'wmlp'], ['m']],
    ['Add', ['x0', 'o'], ['half']],
    ['Add', ['half', 'm'], ['post']],
    ['MatMul', ['post', 'wU'], ['logits']],
  ])
  expect(taps).toMatchObject({
    'blocks.0.attn.hook_z': 'z',
    'blocks.0.hook_resid_pre': 'x0',
    'blocks.0.hook_attn_out': 'o',
    'blocks.0.hook_mlp_out': 'm',
    'blocks.0.hook_resid_post': 'post',
  })
  expect(taps).not.toHaveProperty('blocks.0.hook_resid_mid')
})

test('a softmax over logits, or a router, is no attention', () => {
  const { layers, taps } = found([
    ['Gather', ['wE', 'ids'], ['x0']],
    ['MatMul', ['x0', 'wU'], ['logits']],
    ['Softmax', ['logits'], ['probabilities']],
  ])
  expect(layers).toBe(0)
  expect(taps).toEqual({})
})
