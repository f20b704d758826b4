/** A model's sizes and switches in the words of contract.ts. In: a spec. Out: the summary that is shown and stored. */
import { decoderOf, encoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { SpecSummary } from './contract.ts'

/** Of the stack that makes the logits; where layers differ, of its first layer. */
export function specSummary(spec: ModelSpec): SpecSummary {
  const { layers } = decoderOf(spec)
  const first = layers[0]!
  const encoder = encoderOf(spec)
  return {
    family: spec.family,
    n_layers: layers.length,
    d_model: spec.dModel,
    n_heads: first.nHeads,
    n_kv_heads: first.nKvHeads,
    d_head: first.dHead,
    d_mlp: first.dMlp,
    d_vocab: spec.dVocab,
    n_ctx: spec.nCtx,
    norm: spec.norm.kind,
    act: first.act,
    positional: spec.positional,
    parallel: first.parallel,
    tied: spec.tied,
    ...(decoderOf(spec).causal ? {} : { causal: false as const }),
    ...(encoder && {
      encoder: {
        n_layers: encoder.layers.length,
        n_heads: encoder.layers[0]!.nHeads,
        start: spec.encoderDecoder!.start,
      },
    }),
  }
}
