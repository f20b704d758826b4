/** Which matrix makes the logits: the embedding or one of its own. The rule is the reference implementation's. */
import { readTensor } from '../checkpoint/index.ts'
import type { BoundTensors } from '../checkpoint/types.ts'
import type { FamilyModel } from '../families/family.ts'

export interface Unembedding {
  readonly matrix: string
  readonly tied: boolean
  readonly warning: string | null
}

/**
 * tie_word_embeddings true: the embedding, unless the file holds another matrix, which then counts (transformers 5).
 * false: the file's own matrix, and the embedding with a warning where there is none.
 */
export function chooseUnembedding(model: FamilyModel, bound: BoundTensors): Unembedding {
  const { embedding, own, tie } = model.head
  const ownEntry = bound.tensors.get(own)
  if (!ownEntry) {
    const warning = tie
      ? null
      : `tie_word_embeddings is false, but the weights hold no ${own}; the embedding is used in its place.`
    return { matrix: embedding, tied: true, warning }
  }
  if (!tie) return { matrix: own, tied: false, warning: null }
  if (same(readTensor(ownEntry), readTensor(bound.tensors.get(embedding)!))) {
    return { matrix: embedding, tied: true, warning: null }
  }
  return {
    matrix: own,
    tied: false,
    warning: `tie_word_embeddings is true, but ${own} differs from ${embedding}; the weights in the file count, so ${own} is used (older tools would tie them).`,
  }
}

// --- Internal helpers ---

function same(a: Float32Array, b: Float32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i])
}
