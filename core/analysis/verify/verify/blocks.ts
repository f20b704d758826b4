/** The blocks of a model, of both stacks where there are two, with what the identities ask of each. */
import type { StackModel } from '../../families/family.ts'
import { blockHook } from '../../graph/hook-names.ts'
import { hookPrefix, type LayerSpec } from '../../graph/model-spec.ts'
import type { Model } from '../../run/model.ts'
import { encoderStage, lastStage, type Stage } from '../../run/segments.ts'

export interface Block {
  readonly layer: number
  readonly spec: LayerSpec
  readonly family: StackModel
  /** The kinds of attention in this block. */
  readonly kinds: readonly ('attn' | 'cross_attn')[]
  /** Full name of one of its hooks. */
  hook(local: string): string
}

/** Every block in the order of the computation. */
export function blocksOf(model: Model): Block[] {
  const family = model.engine().model
  const encoder = encoderStage(family)
  const last = lastStage(family)
  const kinds = encoder ? (['attn', 'cross_attn'] as const) : (['attn'] as const)
  return [
    ...(encoder ? stageBlocks(encoder, 'encoder.', ['attn']) : []),
    ...stageBlocks(last, hookPrefix(model.spec), kinds),
  ]
}

// --- Internal helpers ---

function stageBlocks(stage: Stage, prefix: string, kinds: Block['kinds']): Block[] {
  return stage.stack.layers.map((spec, layer) => ({
    layer,
    spec,
    family: stage.model,
    kinds,
    hook: (local) => prefix + blockHook(layer, local),
  }))
}
