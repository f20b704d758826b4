/**
 * What the compute worker does about heads and comparisons. In: the messages of contract-heads.ts with folders in
 * place of names. Out: plain data. Models come from the worker's cache, so that two questions share one.
 */
import type { TokenView } from '../../checkpoint/types.ts'
import type { ReportModel } from '../../compare/report.ts'
import { HeadscopeError } from '../../errors.ts'
import { blockHook } from '../../graph/hook-names.ts'
import type * as headscope from '../../index.ts'
import type {
  CompareReply,
  CompareRequest,
  CorpusReply,
  CorpusRequest,
  DifferenceReply,
  DifferenceRequest,
  PromptInput,
  RelationRequest,
  SeriesReply,
  SeriesRequest,
  SpansReply,
  SpansRequest,
  SummaryReply,
  SummaryRequest,
  TokenChoice,
} from '../contract.ts'
import type { Engine } from './engine.ts'
import type { ModelCache } from './model-cache.ts'
import type { Call } from './rpc.ts'
import { storedCaptures } from './stored-run.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** The analyses as core/index.ts has them. */
export type HeadAnalyses = Pick<
  typeof headscope,
  | 'findSpans'
  | 'spanEffects'
  | 'headsOverCorpus'
  | 'windowsOf'
  | 'tokenClass'
  | 'relationProbe'
  | 'relationTriples'
  | 'RELATION_EXAMPLE'
  | 'compare'
  | 'compareWeights'
  | 'invariantsOf'
  | 'patternDifference'
  | 'reportHtml'
  | 'scanSeries'
  | 'rollout'
  | 'flow'
  | 'ROLLOUT'
  | 'FLOW'
>
type Model = headscope.Model

export interface HeadMethodDeps {
  readonly analyses: HeadAnalyses
  readonly models: ModelCache<Model>
  readonly version: string
  readonly engine: Pick<Engine<Model>, 'summary' | 'provenance'>
  readonly workspace: Pick<WorkspaceWrites, 'storeRun'>
}

/** Flow costs a maximum flow per position: longer prompts take minutes. */
const LONGEST_FLOW = 128

/** Makes the table. */
export function createHeadMethods({ analyses, models, version, engine, workspace }: HeadMethodDeps) {
  return {
    spans: ({ model, prompts, check, ...settings }: SpansRequest, call: Call): Promise<SpansReply> =>
      models.use(model, async (opened) => {
        const options = { signal: call.signal, onProgress: call.progress }
        const found = await analyses.findSpans(opened, idsOfAll(opened, prompts), { ...settings, ...options })
        return {
          ...found,
          tokens: found.windows.map(({ ids }) => view(opened, ids)),
          causal: check ? await analyses.spanEffects(opened, found, options) : null,
        }
      }),

    corpus: ({ model, prompts, keep, query, key, store }: CorpusRequest, call: Call): Promise<CorpusReply> =>
      models.use(model, async (opened) => {
        const windows = idsOfAll(opened, prompts).flatMap((ids) => analyses.windowsOf(opened, ids))
        const heads = await analyses.headsOverCorpus(opened, windows, {
          ...(keep === undefined ? {} : { keep }),
          ...(query ? { query: chosen(opened, query) } : {}),
          ...(key ? { key: chosen(opened, key) } : {}),
          signal: call.signal,
          onProgress: call.progress,
        })
        const runs = store ? await storePrompts(opened, windows, call) : []
        return { heads, tokens: windows.map((ids) => view(opened, ids)), runs }
      }),

    /** Ids of a class of tokens, and the hash by which stored runs name this checkpoint. */
    tokenIds: ({ model, choices }: { model: string; choices: readonly TokenChoice[] }) =>
      models.use(model, async (opened) => ({
        ids: choices.map((choice) => [...chosen(opened, choice)]),
        hash: (await opened.contentHash()).hash,
      })),

    relation: ({ model, template, triples }: RelationRequest, call: Call) =>
      models.use(model, (opened) =>
        analyses.relationProbe(
          opened,
          triples
            ? triples.map(({ prompt, ...places }) => ({ ids: idsOf(opened, prompt), ...places }))
            : analyses.relationTriples(opened, template ?? analyses.RELATION_EXAMPLE),
          { signal: call.signal, onProgress: call.progress },
        ),
      ),

    compare: (request: CompareRequest & { names: readonly [string, string] }, call: Call) =>
      models.use(request.a, (a) =>
        models.use(request.b, async (b): Promise<CompareReply> => {
          const { scores, batch, seed, match, names } = request
          const maps = request.weights ? analyses.invariantsOf(request.weights) : null
          // Without a tokenizer of its own B reads A's ids.
          const reader = b.tokenizer ? b : a
          const pairs = request.prompts.map((prompt) => ({ a: idsOf(a, prompt), b: idsOf(reader, prompt) }))
          const comparison = await analyses.compare(a, b, pairs, {
            ...(scores ? { scores } : {}),
            ...(batch === undefined ? {} : { batch }),
            ...(seed === undefined ? {} : { seed }),
            ...(match === undefined ? {} : { match }),
            signal: call.signal,
            onProgress: call.progress,
          })
          const tokens = comparison.prediction.prompts.map(({ ids }) => view(a, ids))
          const weights = maps ? await analyses.compareWeights(a, b, maps, call.signal) : null
          const about = async (model: Model, name: string): Promise<ReportModel> => ({
            name,
            path: model.path,
            family: model.spec.family,
            hash: (await model.contentHash()).hash,
          })
          const report = request.report
            ? analyses.reportHtml({
                headscope: version,
                created: new Date().toISOString(),
                a: await about(a, names[0]),
                comparisons: [{ b: await about(b, names[1]), comparison, tokens, pictures: [] }],
              })
            : null
          return { ...comparison, a: names[0], b: names[1], tokens, weights, report }
        }),
      ),

    series: (
      {
        members,
        threshold,
        scores,
        length,
        batch,
        seed,
      }: SeriesRequest & {
        members: readonly { at: string; path: string }[]
      },
      call: Call,
    ): Promise<SeriesReply> =>
      analyses.scanSeries(members, {
        ...(threshold === undefined ? {} : { threshold }),
        ...(scores ? { scores } : {}),
        ...(length === undefined ? {} : { length }),
        ...(batch === undefined ? {} : { batch }),
        ...(seed === undefined ? {} : { seed }),
        signal: call.signal,
        onProgress: call.progress,
      }),

    difference: (
      { a, b, prompt, layer, head }: DifferenceRequest,
      { signal }: Call,
    ): Promise<DifferenceReply> =>
      models.use(a, (inA) =>
        models.use(b, async (inB) => {
          const ids = idsOf(inA, prompt)
          const found = await analyses.patternDifference(inA, inB, ids, { layer, head }, signal)
          return {
            tokens: view(inA, ids),
            a: [...found.a],
            b: [...found.b],
            difference: [...found.difference],
          }
        }),
      ),

    summary: (
      { model, prompt, kind, pos = -1, without_first = false }: SummaryRequest,
      { signal }: Call,
    ): Promise<SummaryReply> =>
      models.use(model, async (opened) => {
        const ids = idsOf(opened, prompt)
        if (kind === 'flow' && ids.length > LONGEST_FLOW)
          throw new HeadscopeError(
            'bad-request',
            `The prompt has ${ids.length} tokens, and a flow of more than ${LONGEST_FLOW} takes minutes; choose a shorter prompt, or rollout.`,
          )
        const run = await opened.run(ids, { capture: ['blocks.*.attn.hook_pattern'], top: 0, signal })
        const layers = opened.spec.stacks.at(-1)!.layers
        const patterns = layers.map(({ nHeads }, layer) => ({
          heads: nHeads,
          data: run.get(blockHook(layer, 'attn.hook_pattern')).data,
        }))
        const options = { withoutFirst: without_first }
        const at = pos < 0 ? ids.length + pos : pos
        return {
          definition: kind === 'rollout' ? analyses.ROLLOUT : analyses.FLOW,
          tokens: view(opened, ids),
          values: [
            ...(kind === 'rollout'
              ? analyses.rollout(patterns, ids.length, options)
              : analyses.flow(patterns, ids.length, at, options)),
          ],
        }
      }),
  }

  /** Runs prompts with their patterns and stores them; the numbers of the runs. */
  async function storePrompts(
    model: Model,
    prompts: readonly (readonly number[])[],
    { signal }: Call,
  ): Promise<number[]> {
    const capture = storedCaptures(engine.summary(model), model.hooks)
    const runs: number[] = []
    for (const ids of prompts) {
      const plan = {
        provenance: engine.provenance(model, capture, []),
        spec: engine.summary(model),
        items: [{ ids, text: model.tokenizer?.decode(ids) ?? null, tokens: view(model, ids) }],
      }
      runs.push(
        await workspace.storeRun(model, plan, (onCapture) => model.run(ids, { capture, signal, onCapture })),
      )
    }
    return runs
  }

  function chosen(model: Model, choice: TokenChoice): Set<number> {
    if ('ids' in choice) return new Set(choice.ids)
    return analyses.tokenClass(model, 'class' in choice ? choice.class : choice.words)
  }
}

// --- Internal helpers ---

function idsOfAll(model: Model, prompts: readonly PromptInput[]): number[][] {
  return prompts.map((prompt) => idsOf(model, prompt))
}

function idsOf(model: Model, { text, ids, bos }: PromptInput): number[] {
  const found = ids ? [...ids] : model.encode(text ?? '', bos ? { bos } : {})
  if (found.length > 0) return found
  throw new HeadscopeError('bad-prompt', 'The prompt is empty: type at least one token.')
}

/** Token views; without a tokenizer a token is its number. */
function view(model: Model, ids: readonly number[]): TokenView[] {
  if (model.tokenizer) return model.tokenizer.view(ids)
  return ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}
