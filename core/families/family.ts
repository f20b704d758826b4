/**
 * What a family is: a config read into a spec, the tensors it wants, and three builders that read top to bottom as
 * the model computes. Everything else (sessions, hooks, edits, restarts, the store) knows only this interface.
 */
import type { RawConfig, TensorPlan } from '../checkpoint/types.ts'
import type { Axis } from '../graph/axes.ts'
import type { Builder, Value } from '../graph/builder.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import type { NormWeights } from '../graph/norm.ts'

export interface Family {
  /** `model_type` values of config.json. */
  readonly modelTypes: readonly string[]
  /** Throws `bad-checkpoint` or `unsupported` for a config that breaks a rule or asks for other maths. */
  read(config: RawConfig): FamilyModel
}

/** The parts of the state that blocks hand on, with their axes: the residual stream, and whatever a family carries. */
export type StateAxes = Readonly<Record<'resid', readonly Axis[]>> & Readonly<Record<string, readonly Axis[]>>

/** The state of most decoders. */
export const RESIDUAL_ONLY: StateAxes = { resid: ['batch', 'pos', 'd_model'] }

/** One value per part of the state. */
export type BlockState = Readonly<Record<'resid', Value>> & Readonly<Record<string, Value>>

/** One stack of blocks. */
export interface StackModel {
  readonly state: StateAxes
  /** Tensor of b_O, the bias that attention adds whatever its heads do; null where there is none. */
  outputBias(layer: number): string | null
  /** The norm of what attention gives, where it stands before the sum (`norms` after or both). */
  outputNorm?(layer: number): NormWeights
  /** The norms of the two sums of a block (`norms` sum). */
  sumNorms?(layer: number): {
    readonly mid: NormWeights
    readonly post: NormWeights
    /** Of the sum with what cross-attention gives. */
    readonly cross?: NormWeights
  }
  /** b_O of cross-attention; present where the stack has it. */
  crossOutputBias?(layer: number): string | null
  /** ids (and positions, token types) → what enters block 0. */
  embed(g: Builder): BlockState
  /** `state` also has `memory` where the stack reads an encoder. */
  block(g: Builder, layer: number, state: BlockState): BlockState
}

/** The stack that a decoder reads. */
export interface EncoderModel extends StackModel {
  /** The last residual → what the decoder reads [batch, pos, d_model]. */
  memory(g: Builder, resid: Value): Value
}

/** A model: its last stack, and an encoder before it where there is one. */
export interface FamilyModel extends StackModel {
  readonly spec: ModelSpec
  readonly plan: TensorPlan
  readonly warnings: readonly string[]
  /** The embedding, and the tensor of an unembedding of its own: which one is used is decided on the file. */
  readonly head: { readonly embedding: string; readonly own: string; readonly tie: boolean }
  readonly encoder?: EncoderModel
  /** The blocks read what an encoder handed over, and the encoder itself is not a part of this model. */
  readonly readsMemory?: true
  /** The last residual → logits; `matrix` is the tensor decided on. */
  unembed(g: Builder, resid: Value, matrix: string): Value
}
