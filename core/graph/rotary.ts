/** Rotary embedding inside a block: cos and sin are inputs made from positions (run/rope-tables.ts). */
import type { Builder, Value } from './builder.ts'
import type { LayerSpec, ModelSpec } from './model-spec.ts'

/** Names of the inputs that carry a rope's table [batch, pos, dims / 2]. */
export function ropeInputs(rope: number): { readonly cos: string; readonly sin: string } {
  return { cos: `cos.${rope}`, sin: `sin.${rope}` }
}

/** x [batch, pos, heads, d_head], its first `dims` dimensions rotated; unchanged where the layer has no rotary. */
export function rotate(g: Builder, x: Value, spec: ModelSpec, layer: LayerSpec, heads: number): Value {
  if (layer.rope === null) return x
  const rope = spec.ropes[layer.rope]!
  const names = ropeInputs(layer.rope)
  const cos = g.input(names.cos, 'f32', ['batch', 'pos', 'd_head'])
  const sin = g.input(names.sin, 'f32', ['batch', 'pos', 'd_head'])
  const flat = g.op('Reshape', [x, g.ints([0, 0, heads * layer.dHead])], ['batch', 'pos', 'd_model'])
  const rotated = g.op('RotaryEmbedding', [flat, cos, sin], flat.axes, {
    attributes: {
      interleaved: rope.interleaved ? 1n : 0n,
      num_heads: BigInt(heads),
      rotary_embedding_dim: BigInt(rope.dims),
    },
  })
  return g.op('Reshape', [rotated, g.ints([0, 0, heads, layer.dHead])], x.axes)
}
