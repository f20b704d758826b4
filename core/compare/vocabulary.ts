/** Do two checkpoints mean the same by a token id? In: two opened models. Out: which ids differ, and what remains. */
import { ordinaryIds } from '../analysis/sequences.ts'
import type { Model } from '../run/model.ts'
import type { VocabularyDifference } from './types.ts'

type Party = Pick<Model, 'tokenizer' | 'spec'>

/** Differing ids that are named. */
const SHOWN = 20

/** Compares the texts of all ids. Cost: one pass over both vocabularies. */
export function compareVocabularies(a: Party, b: Party): VocabularyDifference {
  const sizes = [a.spec.dVocab, b.spec.dVocab] as const
  const examples: { id: number; a: string | null; b: string | null }[] = []
  let different = 0
  const known = a.tokenizer !== null && b.tokenizer !== null
  for (let id = 0; id < Math.max(...sizes); id++) {
    const [textA, textB] = [textOf(a, id, known), textOf(b, id, known)]
    if (textA === textB) continue
    different++
    if (examples.length < SHOWN) examples.push({ id, a: textA, b: textB })
  }
  const same = different === 0
  const blind = known ? [] : ['One of the two has no tokenizer, so an id is taken to mean the same in both.']
  const comparable = [...blind, ...(same ? [] : whatRemains(a, b, different))]
  return { same, sizes, different, examples, comparable }
}

/** By id: 1 where it stands for the same text in both; as long as the smaller vocabulary. */
export function sameMeaning(a: Party, b: Party): Uint8Array {
  const known = a.tokenizer !== null && b.tokenizer !== null
  const size = Math.min(a.spec.dVocab, b.spec.dVocab)
  return Uint8Array.from({ length: size }, (_, id) => Number(textOf(a, id, known) === textOf(b, id, known)))
}

/** Ordinary ids that stand for the same text in both. */
export function sharedIds(a: Party, b: Party): number[] {
  const inB = new Set(ordinaryIds(b))
  const known = a.tokenizer !== null && b.tokenizer !== null
  return ordinaryIds(a).filter((id) => inB.has(id) && textOf(a, id, known) === textOf(b, id, known))
}

// --- Internal helpers ---

/** Text of an id, or null where the model has no such row; its number where texts are not known of both. */
function textOf({ tokenizer, spec }: Party, id: number, known: boolean): string | null {
  if (id >= spec.dVocab) return null
  return known ? tokenizer!.view([id])[0]!.text : `id ${id}`
}

function whatRemains(a: Party, b: Party, different: number): string[] {
  const shared = sharedIds(a, b).length
  return [
    `${different} token ids differ; ${shared} ordinary ids stand for the same text in both.`,
    ...(shared >= 2 ? ['Head scores are compared on random sequences of the shared tokens.'] : []),
    'Patterns are compared on those prompts that both tokenizers cut into the same ids, of tokens that differ in neither.',
    'Predictions are compared over the ids that stand for the same text in both, renormalised over these.',
  ]
}
