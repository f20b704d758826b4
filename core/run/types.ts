/** What a run takes and gives. Plain data, so that it crosses threads and can be stored. */
import type { Progress } from '../checkpoint/types.ts'
import type { Tensor } from '../graph/tensor.ts'

/** A number (negative counts from the end), a list, or a slice "a:b"; absent means all. */
export type Indices = number | readonly number[] | string

/** One intervention, as in the contract. Acts where it stands in the computation. */
export interface Edit {
  /** A hook, or a glob: the edit then acts on every hook that it matches (`blocks.*.attn.hook_attn_scores`). */
  readonly hook: string
  readonly item?: Indices
  readonly head?: Indices
  readonly kv_head?: Indices
  readonly pos?: Indices
  readonly query?: Indices
  readonly key?: Indices
  readonly op: 'zero' | 'scale' | 'set' | 'add'
  readonly by?: number
  readonly value?: number | '-inf'
  readonly from?: EditSource
}

export type EditSource =
  | { readonly item: number }
  | { readonly ids: readonly number[]; readonly decoder_ids?: readonly number[] }
  | { readonly run: number }
  /** Over the prompts of a file, or over these. */
  | { readonly mean: string | readonly MeanPrompt[]; readonly over?: 'all' | 'pos' }
  | { readonly file: string; readonly tensor: string }
  | { readonly values: Float32Array; readonly shape: readonly number[] }

/** One prompt behind a mean. `decoder_ids`: the decoder's own beside this text of its encoder. */
export type MeanPrompt =
  | { readonly text: string }
  | { readonly ids: readonly number[]; readonly decoder_ids?: readonly number[] }

export interface RunOptions {
  /** Hook names or globs; `logits` too. A glob that matches nothing is an error naming the nearest hooks. */
  readonly capture?: readonly string[]
  readonly edits?: readonly Edit[]
  /** How many of the most likely next tokens to keep per position (default 5; 0 for none). */
  readonly top?: number
  /**
   * Where a decoder reads an encoder, the prompts are the encoder's texts, and these are the decoder's own, one a
   * prompt, start token included. Absent: the start token alone.
   */
  readonly decoderIds?: readonly (readonly number[])[]
  /** Token types of each prompt (BERT), as many as it has tokens; absent: 0 everywhere. */
  readonly tokenTypes?: readonly (readonly number[])[]
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /**
   * Called with each captured tensor as soon as its block has run, in the order of the computation; awaited.
   * With it, captures are not kept in the run, so that memory holds about two layers.
   */
  readonly onCapture?: (hook: string, tensor: Tensor) => void | Promise<void>
  /** Reads a stored capture, for edits `from: {run}`. Tensor [1, …] with its own positions. */
  readonly openRun?: (run: number, hook: string) => Tensor
}

export interface TopToken {
  readonly id: number
  readonly logit: number
  /** null where some logit of the row is not a finite number, so that no probability exists. */
  readonly prob: number | null
}

/** What the model says after position `pos`. */
export interface Prediction {
  readonly top: readonly TopToken[]
  /** -log p of the token that really follows, in nats; null at the last position, or where it does not exist. */
  readonly loss: number | null
}

export interface RunItem {
  /** Of the last stack: the decoder's own where it reads an encoder. */
  readonly ids: readonly number[]
  /** What the encoder before the decoder read. */
  readonly source?: readonly number[]
  /** Mean next-token loss over the T - 1 predictions whose target is in the prompt; null for T = 1. */
  readonly loss: number | null
  readonly positions: readonly Prediction[]
}

/** Where a run comes from, enough to do it again. */
export interface Provenance {
  readonly modelPath: string
  readonly modelName: string
  readonly family: string
  /** null until the background hash is there; a stored run waits for it. */
  readonly contentHash: string | null
  readonly capture: readonly string[]
  readonly edits: readonly Edit[]
  /** As the run had them; absent: none were given. */
  readonly tokenTypes?: readonly (readonly number[])[]
  readonly versions: { readonly headscope: string; readonly onnxruntime: string; readonly node: string }
  readonly device: string
  readonly dtype: 'f32'
}

export interface Run {
  readonly items: readonly RunItem[]
  readonly provenance: Provenance
  readonly warnings: readonly string[]
  /** Names of the captured hooks. */
  readonly captured: readonly string[]
  /** A captured tensor, right-padded with 0 beyond each item's own length. Throws when it was not captured. */
  get(hook: string): Tensor
}
