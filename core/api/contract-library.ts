/** Messages about what is there: the app itself, checkpoints and their sizes, folders, and what the workspace costs. */

/** GET /api/about */
export interface About {
  readonly headscope: string
  readonly node: string
  readonly onnxruntime: string
  readonly platform: string
  readonly device: string
  readonly threads: number
  readonly store: string // path of the workspace database
  readonly families: readonly string[]
  /** Where a fresh app begins: a bundled checkpoint and a prompt with a repeat. */
  readonly start: { readonly model: string; readonly prompt: string } | null
}

/** GET /api/library: checkpoints that are known, without opening them. */
export interface Library {
  readonly models: readonly LibraryModel[]
  readonly prompts: readonly StoredPrompt[]
  readonly runs: readonly StoredRun[]
}

export interface LibraryModel {
  /** What to open: a bundled name such as `induction-2l`, or an absolute path. */
  readonly path: string
  readonly name: string
  readonly origin: 'bundled' | 'recent' | 'library'
  /** Members of a training series, in natural order. */
  readonly series: readonly { readonly at: string; readonly path: string }[]
}

export interface StoredPrompt {
  readonly id: number
  readonly text: string | null
  readonly ids: readonly number[]
  /** What a decoder read beside this text of its encoder. */
  readonly decoder?: { readonly id: number; readonly text: string | null; readonly ids: readonly number[] }
}

export interface StoredRun {
  readonly id: number
  readonly model: string
  readonly modelName: string
  /** The prompt's; of an encoder–decoder that of the encoder. */
  readonly text: string | null
  readonly tokens: number
  readonly created: string // ISO time
  readonly bytes: number
  readonly edits: number
  /** False when only its scores were kept: no pattern, no residual stream. */
  readonly captures: boolean
}

/**
 * GET /api/store: what the workspace holds and costs. DELETE /api/runs/:id removes a run; POST /api/runs/:id/keep-scores
 * drops its captures and keeps provenance, losses and predictions; POST /api/store/compact gives free bytes back.
 */
export interface StoreReply {
  readonly path: string
  readonly bytes: number // on disk
  readonly free: number // of these, what compacting would give back
  readonly runs: number
  readonly scans: number
  readonly experiments: number
  readonly analyses: number
  readonly prompts: number
  readonly checkpoints: number
}
export interface Freed {
  /** Bytes that are free now, for later runs or to compact. */
  readonly freed: number
}
export interface Compacted {
  readonly before: number
  readonly after: number
}

/** GET /api/cache: float32 working copies and hashes. POST /api/cache/clear removes them: {freed}; 409 while a model works. */
export interface CacheReply {
  readonly path: string
  readonly bytes: number
}

/** GET /api/models/cost?path=: what opening writes, to be shown before it is opened. */
export interface OpenCost {
  /** Bytes of the float32 working copy that would be written; 0 when none is needed, or when it is there. */
  readonly writes: number
  /** Bytes that are free where it goes; null when the system does not say. */
  readonly free: number | null
  readonly cache: string // that folder
}

/** POST /api/models/open {path}: opens (or finds open) and describes. GET /api/models?path= describes it again. */
export interface OpenRequest {
  readonly path: string
}

export interface OpenedModel {
  readonly path: string
  readonly name: string
  readonly spec: SpecSummary
  readonly hooks: readonly { readonly name: string; readonly shape: readonly (string | number)[] }[]
  readonly parameters: number
  readonly tokenizer: {
    readonly vocabSize: number
    readonly bosToken: string | null
    readonly addsBos: boolean
    /** Whether there is a chat template for `chat` of /api/generate. */
    readonly chats: boolean
  } | null
  readonly tokenizerProblem: string | null
  readonly warnings: readonly string[]
  /** null while the background pass is still reading. */
  readonly contentHash: string | null
  /** Position of this checkpoint in its training series, when it is a member of one. */
  readonly series: readonly { readonly at: string; readonly path: string }[]
}

export interface SpecSummary {
  readonly family: string
  readonly n_layers: number
  readonly d_model: number
  readonly n_heads: number
  readonly n_kv_heads: number
  readonly d_head: number
  readonly d_mlp: number
  readonly d_vocab: number
  readonly n_ctx: number
  readonly norm: string
  readonly act: string
  readonly positional: string
  readonly parallel: boolean
  readonly tied: boolean
  /** Set where a token sees later ones. */
  readonly causal?: false
  /** The encoder that the decoder reads, and the token that a decoder's text begins with; else absent. */
  readonly encoder?: { readonly n_layers: number; readonly n_heads: number; readonly start: number }
}

/**
 * GET /api/folders?path=: subfolders and GGUF files of a folder, for the open dialog. `checkpoint` marks those that can
 * be opened, `file` those that have nothing inside to list.
 */
export interface FolderListing {
  readonly path: string
  readonly parent: string | null
  readonly entries: readonly {
    readonly name: string
    readonly path: string
    readonly checkpoint: boolean
    readonly file: boolean
  }[]
}
