/**
 * The axis words, defined once. A shape comment such as `// [batch, pos, head, d_head]` uses these words only.
 *
 *   batch      prompts that run together, right-padded
 *   pos        token positions of one run
 *   query, key positions that attend, and positions that are attended to
 *   head       query heads; kv_head: key/value heads (query head h reads kv_head floor(h / (heads / kv_heads)))
 *   d_model, d_head, d_mlp, d_vocab   widths of the residual stream, of one head, of the MLP, of the vocabulary
 *   source     positions of the encoder's text, where a decoder looks at them (outside a graph: pos or key)
 *   expert     experts of a mixture; choice: those that a token uses, best first; one: a kept axis of size 1
 */
export const AXES = [
  'batch',
  'pos',
  'query',
  'key',
  'source',
  'head',
  'kv_head',
  'd_model',
  'd_head',
  'd_mlp',
  'd_vocab',
  'expert',
  'choice',
  'one',
] as const

export type Axis = (typeof AXES)[number]
