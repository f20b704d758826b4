/**
 * What the compute worker does, one plain function per question: the table below is the whole of it, and its types are
 * those of the functions. In: the messages of contract.ts, with the model's folder in
 * place of its name. Out: plain data. Models stay open in a small cache.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ScanResult } from '../../analysis/types.ts'
import type { Merge, TokenView } from '../../checkpoint/types.ts'
import { HeadscopeError } from '../../errors.ts'
import type {
  CacheReply,
  Compacted,
  ExperimentKind,
  Experiments,
  Freed,
  GenerateReply,
  GenerateRequest,
  InductionView,
  OpenCost,
  OpenedModel,
  PredictReply,
  PredictRequest,
  PromptInput,
  RunRequest,
  ScanRequest,
  SweepNews,
} from '../contract.ts'
import type { createBenchMethods } from './bench-methods.ts'
import type { createEditMethods } from './edit-methods.ts'
import type { Engine, EngineModel } from './engine.ts'
import type { createExchangeMethods } from './exchange-methods.ts'
import { runExperiment } from './experiments.ts'
import type { createHeadMethods } from './head-methods.ts'
import { inductionView } from './induction.ts'
import type { createInsideMethods } from './inside-methods.ts'
import { cellKey } from './intervene.ts'
import { createModelCache, type ModelCache } from './model-cache.ts'
import type { createNotebookMethods } from './notebook-methods.ts'
import { predict } from './predict.ts'
import type { Call } from './rpc.ts'
import { storedCaptures } from './stored-run.ts'
import type { createValueMethods } from './value-methods.ts'
import type { createVerifyMethods } from './verify-methods.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** Models that stay open beside those in use. */
const OPEN_MODELS = 3
/** Likeliest next tokens that a prediction shows. */
const SHOWN = 10

export type ComputeMethods = ReturnType<typeof createMethods> &
  ReturnType<typeof createValueMethods> &
  ReturnType<typeof createEditMethods> &
  ReturnType<typeof createVerifyMethods> &
  ReturnType<typeof createHeadMethods> &
  ReturnType<typeof createExchangeMethods> &
  ReturnType<typeof createNotebookMethods> &
  ReturnType<typeof createBenchMethods> &
  ReturnType<typeof createInsideMethods>

export interface MethodOptions {
  readonly threads?: number
  readonly cacheDir?: string
}

/** The models that a worker holds open. */
export function openModels<M extends EngineModel>(
  engine: Engine<M>,
  options: MethodOptions = {},
): ModelCache<M> {
  return createModelCache((path) => engine.openModel(path, options), OPEN_MODELS, filesOf)
}

/** Makes the table over an engine and a workspace that is open for writing. */
export function createMethods<M extends EngineModel>(
  engine: Engine<M>,
  workspace: WorkspaceWrites,
  options: MethodOptions = {},
  models: ModelCache<M> = openModels(engine, options),
) {
  const { openRun } = workspace
  /** Hashes that the background pass has finished, by folder; forgotten with the worker. */
  const hashes = new WeakMap<M, string>()

  /** Begins the background pass; a fault of the weights shows up where the hash is needed, not here. */
  function hashLater(model: M): void {
    if (hashes.has(model)) return
    model.contentHash().then(
      ({ hash }) => hashes.set(model, hash),
      () => undefined,
    )
  }

  return {
    /** Answers once the workspace is open. */
    ready: (_: object): void => {},

    /** Opens a checkpoint, or finds it open, and describes it. */
    open: ({ model }: { model: string }): Promise<Omit<OpenedModel, 'path' | 'series'>> =>
      models.use(model, (opened) => {
        hashLater(opened)
        return describe(engine, opened, hashes.get(opened) ?? null)
      }),

    /** The content hash of a checkpoint; waits for the pass over its weights. */
    hash: ({ model }: { model: string }): Promise<{ hash: string }> =>
      models.use(model, async (opened) => {
        const { hash } = await opened.contentHash()
        hashes.set(opened, hash)
        return { hash }
      }),

    /** The tokens of a text. */
    tokenize: ({
      model,
      decoder,
      ...prompt
    }: { model: string; decoder?: boolean } & Omit<PromptInput, 'decoder'>): Promise<TokenView[]> =>
      models.use(model, (opened) => {
        const own = decoder ? engine.decoderIds(opened, { text: prompt.text ?? '' }) : null
        return view(opened, own ?? idsOf(opened, prompt))
      }),

    /** How a token was built from smaller pieces. */
    merges: ({ model, id }: { model: string; id: number }): Promise<Merge[]> =>
      models.use(model, ({ tokenizer }) => tokenizer?.merges(id) ?? []),

    /** What opening a checkpoint would write. */
    cost: ({ model }: { model: string }): OpenCost => engine.openCost(model, options),

    /** What working copies take; and without them: models that nobody uses are closed for it. */
    cacheUse: (_: object): CacheReply => engine.cache.use(options.cacheDir),
    clearCache: async (_: object): Promise<Freed> => {
      if (models.busy())
        throw new HeadscopeError(
          'in-use',
          'A model is working on weights of this cache; wait for it or cancel it, then clear the cache.',
        )
      await models.closeAll()
      const { bytes } = engine.cache.use(options.cacheDir)
      engine.cache.clear(options.cacheDir)
      return { freed: bytes }
    },

    /** Housekeeping of the workspace. */
    deleteRun: ({ run }: { run: number }): void => workspace.deleteRun(run),
    keepScores: ({ run }: { run: number }): Freed => ({ freed: workspace.keepScoresOnly(run) }),
    compact: (_: object): Compacted => workspace.compact(),

    /** The words of token ids, each on its own: likely next tokens do not follow each other. */
    views: ({ model, ids }: { model: string; ids: readonly number[] }): Promise<TokenView[]> =>
      models.use(model, (opened) => ids.map((id) => view(opened, [id])[0]!)),

    /** Runs a prompt, captures patterns and the residual stream, and stores them block by block. */
    run: ({ model, prompt, edits = [] }: RunRequest, { signal, progress }: Call): Promise<{ run: number }> =>
      models.use(model, async (opened) => {
        const ids = idsOf(opened, prompt)
        const own = engine.decoderIds(opened, prompt.decoder)
        const capture = storedCaptures(engine.summary(opened), opened.hooks)
        const text = { ids, text: prompt.text ?? null, tokens: view(opened, ids) }
        const plan = {
          provenance: engine.provenance(opened, capture, edits),
          spec: engine.summary(opened),
          items: [
            own
              ? { ids: own, text: prompt.decoder?.text ?? null, tokens: view(opened, own), source: text }
              : text,
          ],
        }
        await engine.requireRoom?.(opened, (own ?? ids).length)
        const options = { ...beside(own), capture, edits, openRun, signal }
        const run = await workspace.storeRun(opened, plan, (onCapture) =>
          opened.run(ids, { ...options, onProgress: progress, onCapture }),
        )
        return { run }
      }),

    /** What the model says at one position, with and without edits. */
    predict: (
      { model, prompt, edits, pos = -1, positions = [] }: PredictRequest,
      { signal }: Call,
    ): Promise<PredictReply> =>
      models.use(model, (opened) => {
        const ids = idsOf(opened, prompt)
        const own = engine.decoderIds(opened, prompt.decoder)
        const { length } = own ?? ids
        const asked = { ids, length, edits, pos, positions, view: (id: number) => view(opened, [id])[0]! }
        return predict(opened, asked, { ...beside(own), top: SHOWN, openRun, signal })
      }),

    /** A sweep of interventions, stored cell by cell; tells `begun` and `cells`. */
    intervene: <K extends ExperimentKind>(
      { kind, request }: { kind: K; request: Experiments[K]['request'] },
      { signal, progress, tell }: Call,
    ): Promise<{ experiment: number }> =>
      models.use(request.model, async (opened) => {
        const news = (event: SweepNews) => tell(event)
        const { id } = await runExperiment(engine, opened, kind, request, workspace, {
          signal,
          onProgress: progress,
          onBegun: (experiment, estimate) => news({ type: 'begun', experiment: experiment!, estimate }),
          onCells: (cells) => news({ type: 'cells', cells }),
          encode: (prompt) => idsOf(opened, prompt),
          own: (prompt) => engine.decoderIds(opened, prompt.decoder),
          view: (ids) => view(opened, ids),
          keyOf: cellKey,
        })
        return { experiment: id! }
      }),

    /** Removes a stored sweep. */
    deleteExperiment: ({ id }: { id: number }): void => workspace.experiments.deleteExperiment(id),

    /** The greedy continuation of a prompt. */
    generate: (
      { model, prompt, max, chat, ...sampling }: GenerateRequest,
      { signal }: Call,
    ): Promise<GenerateReply> =>
      models.use(model, async (opened) => {
        const own = engine.decoderIds(opened, prompt.decoder)
        const asked = chat ? chatIds(opened, prompt) : idsOf(opened, prompt)
        const { ids, logProbs, stopped, cacheBytes, sourceIds } = await opened.generate(asked, {
          ...(own ? { decoderIds: own } : {}),
          ...sampling,
          max,
          stopAt: opened.checkpoint.eosIds,
          signal,
        })
        const text = opened.tokenizer?.decode(ids) ?? ids.join(' ')
        const whole = sourceIds ? null : await opened.run([...asked, ...ids], { top: 1, signal })
        const losses = whole && whole.items[0]!.positions.slice(asked.length - 1, -1).map(({ loss }) => loss)
        return {
          prompt: view(opened, asked),
          tokens: view(opened, ids),
          text,
          log_probs: logProbs,
          uncached: losses?.map((loss) => (loss === null ? null : -loss)) ?? null,
          stopped,
          cache_bytes: cacheBytes,
        }
      }),

    /** Scores every head and stores the scores. */
    scan: ({ model, prompts, ...settings }: ScanRequest, { signal, progress }: Call): Promise<ScanResult> =>
      models.use(model, async (opened) => {
        const texts = prompts ? { prompts: prompts.map((prompt) => idsOf(opened, prompt)) } : {}
        const result = await engine.scanHeads(opened, { ...settings, ...texts, signal, onProgress: progress })
        await workspace.storeScan(opened, engine.summary(opened), result)
        return result
      }),

    /** The A B … A places of a stored run, and the weights that its heads put there. */
    induction: ({ run }: { run: number }): InductionView => {
      const stored = workspace.patternsOf(run)
      return inductionView(engine.repeatPairs(stored.ids), stored.heads)
    },

    /** Closes every model and the workspace: the last call. */
    close: async (_: object): Promise<void> => {
      await models.closeAll()
      workspace.close()
    },
  }
}

function describe<M extends EngineModel>(
  engine: Engine<M>,
  model: M,
  contentHash: string | null,
): Omit<OpenedModel, 'path' | 'series'> {
  const { tokenizer } = model
  return {
    name: model.name,
    spec: engine.summary(model),
    hooks: model.hooks.map(({ name, shape }) => ({ name, shape })),
    parameters: model.parameters.total,
    tokenizer: tokenizer && {
      vocabSize: tokenizer.vocabSize,
      bosToken: tokenizer.bosToken,
      addsBos: tokenizer.addsBos,
      chats: tokenizer.chats,
    },
    tokenizerProblem: model.checkpoint.tokenizerProblem,
    warnings: model.warnings,
    contentHash,
  }
}

function idsOf(model: EngineModel, { text, ids, bos, specials }: PromptInput): number[] {
  const found = ids
    ? [...ids]
    : model.encode(text ?? '', { ...(bos ? { bos } : {}), ...(specials ? { specials } : {}) })
  if (found.length === 0)
    throw new HeadscopeError('bad-prompt', 'The prompt is empty: type at least one token.')
  return found
}

/** A text in the checkpoint's chat template, up to where the answer begins. Throws `bad-request` when there is none. */
function chatIds({ tokenizer }: EngineModel, { text }: PromptInput): number[] {
  if (text === undefined || !tokenizer)
    throw new HeadscopeError(
      'bad-request',
      'A chat needs a text and a tokenizer; leave chat out to continue token ids.',
    )
  return tokenizer.renderChat([{ role: 'user', content: text }]).ids
}

/** The decoder's ids of one prompt, as a run takes them. */
function beside(own: number[] | null): { decoderIds?: number[][] } {
  return own ? { decoderIds: [own] } : {}
}

/** Token views; without a tokenizer a token is its number. */
function view(model: EngineModel, ids: readonly number[]): TokenView[] {
  if (model.tokenizer) return model.tokenizer.view(ids)
  return ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}

/** Size and time of the files of a checkpoint (a folder, or a file by itself): what changes when another checkpoint is written over it. */
function filesOf(path: string): string {
  const factsOf = (file: string) => {
    const { ino, size, mtimeMs } = statSync(file)
    return `${file} ${ino} ${size} ${mtimeMs}`
  }
  try {
    if (statSync(path).isFile()) return factsOf(path)
    return readdirSync(path)
      .filter((name) => /\.(json|safetensors|model|txt|gguf|jinja)$/.test(name))
      .map((name) => factsOf(join(path, name)))
      .sort()
      .join('\n')
  } catch {
    return '' // opening it says what is wrong
  }
}
