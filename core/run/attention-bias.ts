/**
 * The additive score bias: causality, windows and padding in one input [batch, one, query, key]. 0 where a query may
 * look, -∞ where not. A pad query sees itself, so that no row is empty.
 */

export interface BiasShape {
  readonly causal: boolean
  /** Keys seen per query, itself included; null: all. */
  readonly window: number | null
  /** Positions of the queries: start … start + rows - 1; keys are 0 … start + rows - 1 when causal. */
  readonly start: number
  readonly rows: number
  readonly keys: number
  /** Own length of each item; needed where queries look ahead, where pad keys must be hidden. */
  readonly lengths: readonly number[]
}

/**
 * Causal: one [1, 1, rows, keys] for the whole batch, since right-padding lies after every real query.
 * Bidirectional: one per item.
 */
export function attentionBias(shape: BiasShape): { data: Float32Array; shape: number[] } {
  const items = shape.causal ? [shape.keys] : shape.lengths
  const data = new Float32Array(items.length * shape.rows * shape.keys)
  items.forEach((length, item) => {
    for (let row = 0; row < shape.rows; row++) {
      const at = (item * shape.rows + row) * shape.keys
      for (let key = 0; key < shape.keys; key++)
        if (!visible(shape, shape.start + row, key, length)) data[at + key] = Number.NEGATIVE_INFINITY
    }
  })
  return { data, shape: [items.length, 1, shape.rows, shape.keys] }
}

/** Whether a query may look at a key: what the bias says, for checks before a run. */
export function visible(
  shape: Pick<BiasShape, 'causal' | 'window'>,
  query: number,
  key: number,
  length: number,
): boolean {
  if (key === query) return true
  if (shape.causal && key > query) return false
  if (shape.window !== null && Math.abs(query - key) >= shape.window) return false
  return key < length
}

/** What hides an encoder's padding from the decoder: [1 | batch, 1, 1, source]. */
export function sourceBias(lengths: readonly number[]): { data: Float32Array; shape: number[] } {
  const keys = Math.max(...lengths)
  const rows = lengths.every((length) => length === keys) ? [keys] : lengths
  const data = new Float32Array(rows.length * keys)
  rows.forEach((length, item) => {
    data.fill(Number.NEGATIVE_INFINITY, item * keys + length, (item + 1) * keys)
  })
  return { data, shape: [rows.length, 1, 1, keys] }
}
