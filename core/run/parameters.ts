/** Exact parameter accounting from a family's tensor plan: no weights are needed. */

import type { ParameterRole } from '../checkpoint/types.ts'
import type { FamilyModel } from '../families/family.ts'
import { decoderOf } from '../graph/model-spec.ts'
import { sizeOf } from '../graph/tensor.ts'

/** Numbers of parameters. attention and mlp count weight matrices only; unembedding is 0 when tied. */
export interface ParameterCount {
  readonly total: number
  readonly embedding: number
  readonly positional: number
  readonly unembedding: number
  readonly attention: number
  readonly mlp: number
  readonly router: number
  readonly norm: number
  readonly biases: number
  /** W_Q, W_K, W_V, W_O of one query head of layer 0, with its share of grouped keys and values. */
  readonly per_head: number
}

/** `ownHead`: whether the model uses an unembedding of its own. */
export function countParameters(model: FamilyModel, ownHead: boolean): ParameterCount {
  const sum = (role: ParameterRole) =>
    model.plan.wanted
      .filter((tensor) => tensor.role === role && (ownHead || tensor.name !== model.head.own))
      .reduce((total, tensor) => total + sizeOf(tensor.shape), 0)
  const layer = decoderOf(model.spec).layers[0]!
  const counts = {
    embedding: sum('embedding'),
    positional: sum('positional'),
    unembedding: sum('unembedding'),
    attention: sum('attention'),
    mlp: sum('mlp'),
    router: sum('router'),
    norm: sum('norm'),
    biases: sum('bias'),
  }
  const total = Object.values(counts).reduce((a, b) => a + b, 0)
  const perHead = model.spec.dModel * layer.dHead * (2 + (2 * layer.nKvHeads) / layer.nHeads)
  return { total, ...counts, per_head: perHead }
}

/** Bytes of keys and values per token, float32. */
export function cacheBytesPerToken(model: FamilyModel): number {
  return decoderOf(model.spec).layers.reduce((sum, layer) => sum + 2 * 4 * layer.nKvHeads * layer.dHead, 0)
}
