/** Messages of prompts and runs: tokens, predictions, continuations, scans, and what a stored run holds. */
import type { HeadScores, ScanResult } from '../analysis/types.ts'
import type { ValueNormKind } from '../analysis/value-norms.ts'
import type { Merge, TokenView } from '../checkpoint/types.ts'
import type { Edit, Prediction, Provenance } from '../run/types.ts'
import type { EdgesAt } from '../store/edges-at.ts'
import type { SpecSummary, StoredRun } from './contract-library.ts'

/** POST /api/tokenize: the tokens of a text, or of ids as they are. */
export type TokenizeRequest =
  | {
      readonly model: string
      readonly text: string
      readonly bos: 'auto' | 'yes' | 'no'
      /** Whether the spelling of a special token in the text is that token (the default) or plain characters. */
      readonly specials?: 'tokens' | 'text'
      /** As a decoder's own text beside its encoder's: its start token, then the text without special tokens. */
      readonly decoder?: boolean
    }
  | { readonly model: string; readonly ids: readonly number[] }
export interface Tokenized {
  readonly tokens: readonly TokenView[]
}

/** POST /api/tokenize/merges {model, id}: the merges of a BPE vocabulary that build a token, first to last. */
export interface MergesRequest {
  readonly model: string
  readonly id: number
}
export interface MergesReply {
  readonly merges: readonly Merge[]
}

export interface PromptInput {
  readonly text?: string
  readonly ids?: readonly number[]
  readonly bos?: 'auto' | 'yes' | 'no'
  readonly specials?: 'tokens' | 'text'
  /** The decoder's own text, or ids with its start token, where the model reads this prompt with an encoder. */
  readonly decoder?: { readonly text?: string; readonly ids?: readonly number[] }
}

/** POST /api/jobs/run: runs, captures every pattern and the residual stream, and stores. Job result: {run: number}. */
export interface RunRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly edits?: readonly Edit[]
}

/** POST /api/predict: one pass, nothing stored: what the model says with and without edits. */
export interface PredictRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly edits: readonly Edit[]
  /** Position looked at; negative counts from the end. */
  readonly pos?: number
  /** Positions whose top tokens are wanted before and after; negative counts from the end. */
  readonly positions?: readonly number[]
}
export interface PredictReply {
  readonly base: NamedPrediction
  readonly edited: NamedPrediction
  /** Of the asked positions, in that order. */
  readonly positions: readonly PredictedPosition[]
}
export interface PredictedPosition {
  readonly pos: number
  readonly base: NamedPrediction['top']
  readonly edited: NamedPrediction['top']
  /** KL(unedited ‖ edited) of the next token, nats; null where some logit is not a finite number. */
  readonly kl: number | null
}
export interface NamedPrediction {
  readonly pos: number
  readonly top: readonly { readonly token: TokenView; readonly prob: number | null; readonly logit: number }[]
  readonly loss: number | null // mean over the prompt
}

/** POST /api/jobs/scan: scores every head on repeated random tokens and stores. Job result: ScanReply. */
export interface ScanRequest {
  readonly model: string
  /** Names of scores (GET /api/heads/scores), or all; default: the first four. */
  readonly scores?: readonly string[]
  readonly bos?: boolean
  /** Texts for the scores that read any text. */
  readonly prompts?: readonly PromptInput[]
  readonly length?: number
  readonly batch?: number
  readonly seed?: number
}
export interface ScanReply extends ScanResult {
  readonly model: string
}

/** GET /api/scans?model=: the newest stored scan of this checkpoint, or 404. Reply: ScanReply. */

/** GET /api/runs/:id */
export interface RunDetail extends StoredRun {
  readonly provenance: Provenance
  readonly spec: SpecSummary
  readonly views: readonly TokenView[]
  /** What the encoder read, where `views` are the decoder's own. */
  readonly source?: readonly TokenView[]
  /** The decoder's own text, where it was given as one. */
  readonly decoderText?: string | null
  readonly predictions: readonly (Prediction & { readonly topTokens: readonly TokenView[] })[]
  readonly loss: number | null
  readonly hooks: readonly string[]
}

/**
 * GET /api/runs/:id/pattern?layer=&head=   octet-stream, one head as stored: codec tri (row q holds q + 1 weights),
 *                                          dtype f16 or f32, shape [query, key]
 *                                          of an encoder–decoder &of=encoder|decoder|cross (default decoder)
 * GET /api/runs/:id/thumbnails             octet-stream u8 [layer, head, 32, 32]: max-pooled, 255 = weight 1
 * GET /api/runs/:id/residual?hook=         octet-stream f32 [pos, d_model]
 */

/**
 * GET /api/runs/:id/value-norms?layer=&kind=value|output: what turns a stored pattern into a value-weighted one,
 * computed from the run's checkpoint, tokens and edits. A[q, k] · norms[head][k] is the value-weighted pattern.
 */
export interface ValueNormsReply {
  readonly kind: ValueNormKind
  readonly layer: number
  readonly definition: string
  /** [head][pos]; null where it is not a finite number, or where there is no such head. */
  readonly norms: readonly (readonly (number | null)[])[]
}

/**
 * GET /api/runs/:id/edges?key=: the heads in which another token looks at this position with a weight of 0.2 or more;
 * ?query=: in which this token looks at another one; both: in which this edge is. Strongest first.
 */
export type EdgesReply = EdgesAt

/** GET /api/runs/:id/induction: A B … A places of this prompt, and what every head does there. */
export interface InductionView {
  /** query: the later A; target: the earlier B; source: the earlier A. */
  readonly pairs: readonly { readonly query: number; readonly source: number; readonly target: number }[]
  readonly heads: readonly {
    readonly layer: number
    readonly head: number
    /** Weight on each pair's target, in the order of `pairs`. */
    readonly weights: readonly number[]
    /** Mean over query tokens of the weight on all targets of that query: general prefix matching. */
    readonly prefix_matching: HeadScores['scores'][string]
  }[]
}

/** POST /api/generate: a continuation, greedy unless a temperature is given. */
export interface GenerateRequest {
  readonly model: string
  readonly prompt: PromptInput
  readonly max: number
  /** The prompt's text is what a person says in the checkpoint's chat template. */
  readonly chat?: boolean
  /** 0 (default) is greedy. */
  readonly temperature?: number
  /** Of the draws; default 0. */
  readonly seed?: number
}
export interface GenerateReply {
  /** The prompt as it ran. */
  readonly prompt: readonly TokenView[]
  readonly tokens: readonly TokenView[]
  readonly text: string
  /** log p of each new token under the model (temperature 1), nats, as decoded with the key/value cache. */
  readonly log_probs: readonly number[]
  /** The same from one run of the whole text without a cache; null where a decoder reads an encoder. */
  readonly uncached: readonly (number | null)[] | null
  readonly stopped: 'max' | 'eos' | 'context'
  readonly cache_bytes: number
}
