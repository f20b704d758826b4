/**
 * Which head of B does what a head of A does. In: patterns of both on the same prompts. Out: pairs by behaviour (the
 * Hungarian method on summed similarities), never by index. Cost: heads of A × heads of B × T² per prompt.
 */
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { bestAssignment } from './assignment.ts'
import { rowDistance } from './patterns.ts'
import type { HeadMatch } from './types.ts'

/** Sums of similarity, [head of A][head of B], in the order of layers. */
export type Similarity = readonly Float64Array[]

/** Nothing added yet. */
export function noSimilarity(a: ModelSpec, b: ModelSpec): Similarity {
  const columns = placesOf(b).length
  return placesOf(a).map(() => new Float64Array(columns))
}

/** Adds 1 − distance of every head of A to every head of B on one prompt. */
export function addSimilarity(
  similar: Similarity,
  a: readonly Tensor[],
  b: readonly Tensor[],
  item: number,
  length: number,
): void {
  let i = 0
  for (const inA of a)
    for (let headA = 0; headA < inA.shape[1]!; headA++, i++) {
      let j = 0
      for (const inB of b)
        for (let headB = 0; headB < inB.shape[1]!; headB++, j++)
          similar[i]![j]! += 1 - rowDistance(inA, inB, { item, headA, headB, length })
    }
}

/** Heads of A and B one to one, most alike first. `prompts`: how many were added up. */
export function matchesOf(a: ModelSpec, b: ModelSpec, similar: Similarity, prompts: number): HeadMatch[] {
  const [ofA, ofB] = [placesOf(a), placesOf(b)]
  const columns = bestAssignment(similar.map((row) => [...row]))
  return columns
    .flatMap((column, row) =>
      column === -1 ? [] : [{ a: ofA[row]!, b: ofB[column]!, similarity: similar[row]![column]! / prompts }],
    )
    .sort((x, y) => y.similarity - x.similarity)
}

// --- Internal helpers ---

function placesOf(spec: ModelSpec) {
  return decoderOf(spec).layers.flatMap(({ nHeads }, layer) =>
    Array.from({ length: nHeads }, (_, head) => ({ layer, head })),
  )
}
