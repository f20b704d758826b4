/**
 * Which token sequence a capture's axis runs over. A decoder-only or encoder-only model has one, `main`. Beside a
 * decoder, the encoder reads `source`: its own hooks run over it, and so do the keys of cross-attention.
 */
export type SequenceName = 'main' | 'source'

/** The sequence of an axis of a hook; null for axes that are not positions. */
export function sequenceOfAxis(hook: string, axis: string): SequenceName | null {
  if (axis !== 'pos' && axis !== 'query' && axis !== 'key') return null
  if (hook.startsWith('encoder.')) return 'source'
  if (!hook.includes('.cross_attn.')) return 'main'
  if (axis === 'pos') return /\.hook_(rot_)?[kv]$/.test(hook) ? 'source' : 'main'
  return axis === 'key' ? 'source' : 'main'
}

/** The sequence that a capture's keys are in; that of its positions when it has no key axis. */
export function keySequenceOf(hook: string, axes: readonly string[]): SequenceName {
  return (axes.includes('key') ? sequenceOfAxis(hook, 'key') : sequenceOfAxis(hook, 'pos')) ?? 'main'
}

/** The kind of attention that a pattern hook belongs to: its name with * in place of the layer. */
export function stackOf(hook: string): string {
  return hook.replace(/(^|\.)blocks\.\d+\./, '$1blocks.*.')
}
