/**
 * What a checkpoint is, read from its small files and headers. In: a folder, a weights file or a GGUF file. Out: its
 * family with the unembedding decided on, its tensors bound, its hooks and warnings. Nothing is computed, no weight is
 * read, and ONNX Runtime is not loaded.
 */
import { bindTensors } from '../checkpoint/bind.ts'
import { openCheckpoint } from '../checkpoint/open.ts'
import { checkVocab } from '../checkpoint/tokenizer.ts'
import type { BoundTensors, Checkpoint } from '../checkpoint/types.ts'
import type { FamilyModel } from '../families/family.ts'
import { readFamily } from '../families/index.ts'
import { countParameters, type ParameterCount } from './parameters.ts'
import { type HookInfo, listHooks } from './segments.ts'
import { chooseUnembedding } from './unembedding.ts'

export interface ReadModel {
  readonly checkpoint: Checkpoint
  readonly bound: BoundTensors
  /** The family's model; `tied` says what the file holds. */
  readonly model: FamilyModel
  /** Tensor of the unembedding. */
  readonly matrix: string
  readonly parameters: ParameterCount
  readonly hooks: readonly HookInfo[]
  readonly warnings: readonly string[]
}

/** Throws `bad-checkpoint`, `unsupported` or `not-found` in one sentence naming the file and the rule. */
export function readModel(path: string): ReadModel {
  const checkpoint = openCheckpoint(path)
  const family = readFamily(checkpoint.config)
  const bound = bindTensors(checkpoint, family.plan)
  const { matrix, tied, warning } = chooseUnembedding(family, bound)
  const model: FamilyModel = { ...family, spec: { ...family.spec, tied } }
  const vocabulary = checkpoint.tokenizer ? checkVocab(checkpoint.tokenizer, model.spec.dVocab) : null
  return {
    checkpoint,
    bound,
    model,
    matrix,
    parameters: countParameters(model, !tied),
    hooks: listHooks(model, matrix),
    warnings: [
      ...checkpoint.warnings,
      ...family.warnings,
      ...bound.warnings,
      ...[warning, vocabulary].filter((sentence) => sentence !== null),
    ],
  }
}
