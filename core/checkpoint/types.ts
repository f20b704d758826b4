/** What a checkpoint on disk is, before anything is known about its family. */

/** A tensor inside a safetensors or GGUF file. */
export interface TensorEntry {
  readonly name: string // as the file spells it
  readonly dtype: string // 'F32', 'F16', 'BF16', 'F64', 'I64' …; in GGUF also the block formats 'Q4_1', 'Q6_K' …
  readonly shape: readonly number[]
  readonly file: string // real path (links resolved) of the file that holds it
  readonly offset: number // absolute byte offset in that file
  readonly bytes: number
  /** How the stored values differ from the tensor's; absent when they are the same. */
  readonly stored?: StoredForm
}

/**
 * The values as they lie in the file, and the way to the tensor: seen as `shape`, with axes taken in `order` (numpy's
 * transpose), each plus `add`. `rows`, with axes in order, lists runs [first, count] of rows instead.
 */
export interface StoredForm {
  readonly shape: readonly number[]
  readonly order: readonly number[]
  readonly add?: number
  readonly rows?: readonly (readonly [first: number, count: number])[]
}

/** config.json as parsed: a null-prototype object tree of plain JSON values. */
export type RawConfig = { readonly [key: string]: unknown }

export interface Checkpoint {
  /** Absolute path of the folder as given, and what a person calls it (its last part). */
  readonly path: string
  readonly name: string
  readonly config: RawConfig
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly tokenizer: Tokenizer | null
  /** Why `tokenizer` is null, as a sentence. */
  readonly tokenizerProblem: string | null
  /** From generation_config.json, else config.json. */
  readonly eosIds: readonly number[]
  readonly warnings: readonly string[]
  /** Of a GGUF file: the name that its tensors have there, for messages. */
  readonly fileName?: (canonical: string) => string
}

export interface TokenView {
  readonly id: number
  /** What is shown: whitespace and control characters visible, bytes of a split character as <F0 9F>. */
  readonly text: string
  readonly special: boolean
  /** Index of the first token of the character that this token is a part of, when bytes were split; else null. */
  readonly group: number | null
}

export interface EncodeOptions {
  readonly bos?: 'auto' | 'yes' | 'no'
  readonly specials?: 'tokens' | 'text'
}

export interface Tokenizer {
  readonly vocabSize: number
  readonly bosId: number | null
  readonly bosToken: string | null
  /** Whether the tokenizer files put BOS in front of a text (`--bos auto`). */
  readonly addsBos: boolean
  /** Whether the checkpoint has a chat template, so that renderChat can be asked. */
  readonly chats: boolean
  /** Ids of special and added tokens: never drawn for random sequences. */
  readonly specialIds: ReadonlySet<number>
  /**
   * Text to ids. `bos`: auto = as the files say; never doubled. `specials`: whether the spelling of a special token
   * in the text is that token (the default) or plain characters.
   */
  encode(text: string, options?: EncodeOptions): number[]
  /** The whole text through one byte buffer. Unknown ids decode as `<unused N>`. */
  decode(ids: readonly number[]): string
  /** One view per id, for display. Unknown ids show as `<unused N>`. */
  view(ids: readonly number[]): TokenView[]
  /** Two texts as one input, with what the post-processor puts around and between them. */
  encodePair(first: string, second: string): EncodedPair
  /** The merges of a BPE vocabulary that build a token, in the order in which they happen; empty for a single unit. */
  merges(id: number): Merge[]
  /** A conversation through the checkpoint's chat template. Throws 'bad-request' when there is none. */
  renderChat(messages: readonly ChatMessage[], options?: ChatOptions): RenderedChat
}

export interface EncodedPair {
  readonly ids: number[]
  /** 0 for the first text and what belongs to it, 1 for the second. */
  readonly typeIds: number[]
}

/** One merge: two pieces that become one, and its rank among all merges (0 is the first). */
export interface Merge {
  readonly left: string
  readonly right: string
  readonly result: string
  readonly rank: number
}

export interface ChatMessage {
  readonly role: string
  readonly content: string
}

export interface ChatOptions {
  /** Whether the text ends where the assistant's answer begins; default true. */
  readonly prompt?: boolean
}

export interface RenderedChat {
  readonly text: string
  readonly ids: number[]
}

/** What a family wants from a checkpoint's tensors. Names are canonical: without prefix. */
export interface TensorPlan {
  /** Prefixes that files of this family carry, in order of preference, e.g. ['', 'transformer.']. */
  readonly prefixes: readonly string[]
  readonly wanted: readonly WantedTensor[]
  /** Names (after the prefix) of harmless buffers that are ignored silently. */
  readonly buffers: readonly RegExp[]
}

export interface WantedTensor {
  readonly name: string
  readonly shape: readonly number[]
  /** Words that say where each size comes from, e.g. 'vocab_size × n_embd'. */
  readonly from: string
  /** What the tensor is, for the accounting of parameters. */
  readonly role: ParameterRole
  readonly optional?: boolean
  /** Another canonical name under which older files hold it. */
  readonly formerly?: string
}

export type ParameterRole =
  | 'embedding'
  | 'positional'
  | 'unembedding'
  | 'attention'
  | 'mlp'
  | 'router'
  | 'norm'
  | 'bias'

/** Tensors by canonical name, shapes checked, and what to tell the user. */
export interface BoundTensors {
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly warnings: readonly string[]
}

/** Where ONNX Runtime finds the float32 bytes of each tensor: one folder, file names inside it. */
export interface WeightFiles {
  readonly folder: string
  readonly tensors: ReadonlyMap<string, WeightSlice>
}

export interface WeightSlice {
  readonly location: string // file name inside the folder
  readonly offset: number
  readonly bytes: number
  readonly shape: readonly number[]
}

/** Result of the background pass over the weights. */
export interface ContentHash {
  readonly hash: string // hex sha-256
  readonly nonFinite: readonly { tensor: string; kind: 'NaN' | 'Inf' | '-Inf'; count: number }[]
}

export interface Progress {
  readonly done: number
  readonly total: number
  readonly secondsLeft: number | null
}
