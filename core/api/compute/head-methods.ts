/**
 * What the compute worker does about heads and comparisons. In: the messages of contract-heads.ts with folders in
 * place of names. Out: plain data, kept in the workspace where it is an analysis. Models come from the worker's cache,
 * so that two questions share one.
 */
import type { ReportModel } from '../../compare/report.ts'
import { HeadscopeError } from '../../errors.ts'
import type * as headscope from '../../index.ts'
import type * as T from '../contract.ts'
import type { Engine } from './engine.ts'
import { analysed, keepAnalysis, keepAnalysisOf } from './keep-analysis.ts'
import type { ModelCache } from './model-cache.ts'
import { idsOf, oneText, view } from './prompt-input.ts'
import type { Call } from './rpc.ts'
import { type CorpusWindow, corpusWindows, storeWindows } from './store-windows.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** The analyses as core/index.ts has them. */
export type HeadAnalyses = Pick<
  typeof headscope,
  | 'findSpans'
  | 'spanEffects'
  | 'headsOverCorpus'
  | 'windowsOf'
  | 'tokensOf'
  | 'relationProbe'
  | 'relationTriples'
  | 'RELATION_EXAMPLE'
  | 'compare'
  | 'compareWeights'
  | 'invariantsOf'
  | 'patternDifference'
  | 'mostChangedPatterns'
  | 'reportHtml'
  | 'scanSeries'
  | 'isScanOf'
  | 'attentionSummary'
>
type Model = headscope.Model

export interface HeadMethodDeps {
  readonly analyses: HeadAnalyses
  readonly models: ModelCache<Model>
  readonly version: string
  readonly engine: Pick<Engine<Model>, 'summary'>
  readonly workspace: Pick<
    WorkspaceWrites,
    'storeRun' | 'storeScan' | 'latestScan' | 'cleanRuns' | 'experiments'
  >
}

/** Makes the table. */
export function createHeadMethods({ analyses, models, version, engine, workspace }: HeadMethodDeps) {
  /** A reply with its number. */
  async function kept<K extends T.AnalysisKind>(
    kind: K,
    read: readonly [Model, ...Model[]],
    request: T.Analyses[K]['request'],
    reply: Omit<T.Analyses[K]['reply'], 'experiment'>,
  ): Promise<T.Analyses[K]['reply']> {
    const experiment = await keepAnalysisOf(workspace.experiments, kind, read, request, reply)
    return { ...reply, experiment } as T.Analyses[K]['reply']
  }

  return {
    spans: (request: T.SpansRequest, call: Call): Promise<T.SpansReply> =>
      models.use(request.model, async (opened) => {
        const { model: _, prompts, check, heads, ...settings } = request
        const options = { signal: call.signal, onProgress: call.progress }
        const { model: read, ids } = await oneText(opened, prompts)
        const found = await analyses.findSpans(read, ids, { ...settings, ...options })
        const ablated = { ...options, ...(heads ? { heads } : {}) }
        return kept('spans', [opened], request, {
          ...found,
          tokens: found.windows.map(({ ids }) => view(opened, ids)),
          causal: check ? await analyses.spanEffects(read, found, ablated) : null,
        })
      }),

    corpus: (request: T.CorpusRequest, call: Call): Promise<T.CorpusReply> =>
      models.use(request.model, async (opened) => {
        const { prompts, keep, query, key, store } = request
        const { model: read, ids } = await oneText(opened, prompts)
        const windows = corpusWindows(read, prompts, ids, analyses.windowsOf)
        if (store && read !== opened)
          throw new HeadscopeError(
            'bad-request',
            'Runs of a corpus are stored for models of one text; leave `store` out for an encoder–decoder.',
          )
        const heads = await analyses.headsOverCorpus(
          read,
          windows.map(({ ids }) => ids),
          {
            ...(keep === undefined ? {} : { keep }),
            ...(query ? { query: analyses.tokensOf(opened, query) } : {}),
            ...(key ? { key: analyses.tokensOf(opened, key) } : {}),
            signal: call.signal,
            onProgress: call.progress,
          },
        )
        const runs = store ? await storeWindows(opened, windows, { workspace, call }) : []
        const shown = new Set(heads.flatMap((head) => [...head.edges, ...head.texts].map((e) => e.prompt)))
        const tokens = windows.map(({ ids }: CorpusWindow, w) => (shown.has(w) ? view(opened, ids) : []))
        return kept('corpus', [opened], request, { heads, tokens, runs })
      }),

    /** Ids of a class of tokens, and the hash by which stored runs name this checkpoint. */
    tokenIds: ({ model, choices }: { model: string; choices: readonly T.TokenChoice[] }) =>
      models.use(model, async (opened) => ({
        ids: choices.map((choice) => [...analyses.tokensOf(opened, choice)]),
        hash: (await opened.contentHash()).hash,
      })),

    relation: (request: T.RelationRequest, call: Call): Promise<T.RelationReply> =>
      models.use(request.model, async (opened) => {
        const { template, triples } = request
        const one =
          triples &&
          (await oneText(
            opened,
            triples.map(({ prompt }) => prompt),
          ))
        const asked = one
          ? triples.map(({ prompt: _, ...places }, i) => ({ ids: one.ids[i]!, ...places }))
          : analyses.relationTriples(opened, template ?? analyses.RELATION_EXAMPLE)
        const options = { signal: call.signal, onProgress: call.progress }
        const found = await analyses.relationProbe(one?.model ?? opened, asked, options)
        return kept('relation', [opened], request, found)
      }),

    compare: (
      { names, ...request }: T.CompareRequest & { names: readonly [string, string] },
      call: Call,
    ): Promise<T.CompareReply> =>
      models.use(request.a, (a) =>
        models.use(request.b, async (b) => {
          const { scores, length, batch, seed, match } = request
          const maps = request.weights ? analyses.invariantsOf(request.weights) : null
          // Without a tokenizer of its own B reads A's ids.
          const inA = await oneText(a, request.prompts)
          const given = b.tokenizer ? request.prompts : idsOfA(a, request.prompts)
          const inB = await oneText(b, given)
          const pairs = inA.ids.map((ids, i) => ({ a: ids, b: inB.ids[i]! }))
          const comparison = await analyses.compare(inA.model, inB.model, pairs, {
            ...(scores ? { scores } : {}),
            ...(length === undefined ? {} : { length }),
            ...(batch === undefined ? {} : { batch }),
            ...(seed === undefined ? {} : { seed }),
            ...(match === undefined ? {} : { match }),
            signal: call.signal,
            onProgress: call.progress,
          })
          const tokens = comparison.prediction.prompts.map(({ ids }) => view(a, ids))
          const inWeights = maps
            ? await analyses.compareWeights(inA.model, inB.model, maps, call.signal)
            : null
          const weights = inWeights?.heads ?? null
          const warnings = [...comparison.warnings, ...(inWeights?.why ? [inWeights.why] : [])]
          const whole = { ...comparison, warnings }
          const about = async (model: Model, name: string): Promise<ReportModel> => ({
            name,
            path: model.path,
            family: model.spec.family,
            hash: (await model.contentHash()).hash,
          })
          const pictures = request.report
            ? await analyses.mostChangedPatterns(inA.model, inB.model, comparison, { signal: call.signal })
            : []
          const report = request.report
            ? analyses.reportHtml({
                headscope: version,
                created: new Date().toISOString(),
                a: await about(a, names[0]),
                comparisons: [{ b: await about(b, names[1]), comparison: whole, tokens, pictures }],
              })
            : null
          const reply = { ...whole, a: names[0], b: names[1], tokens, weights, report }
          return kept('compare', [a, b], request, reply)
        }),
      ),

    series: async (
      { members, ...request }: T.SeriesRequest & { members: readonly { at: string; path: string }[] },
      call: Call,
    ): Promise<T.SeriesReply> => {
      const { model: _, threshold, ...settings } = request
      const read: Awaited<ReturnType<typeof analysed>>[] = []
      const found = await analyses.scanSeries(members, {
        ...settings,
        ...(threshold === undefined ? {} : { threshold }),
        signal: call.signal,
        onProgress: call.progress,
        known: (opened, hash) => {
          const scan = workspace.latestScan(hash)
          return scan && analyses.isScanOf(scan, opened, settings) ? scan : null
        },
        onStep: async (step, opened, scan) => {
          read.push(await analysed(opened))
          // A scan that came from the workspace has its number there.
          if (!('id' in scan)) await workspace.storeScan(opened, engine.summary(opened), scan)
          call.tell({ type: 'cells', cells: [step] })
        },
      })
      const [last, ...before] = read.reverse() as [(typeof read)[number], ...typeof read]
      const experiment = keepAnalysis(workspace.experiments, 'series', [last, ...before], request, found)
      return { ...found, experiment }
    },

    difference: (
      { a, b, prompt, layer, head }: T.DifferenceRequest,
      { signal }: Call,
    ): Promise<T.DifferenceReply> =>
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
      { model, prompt, kind, pos, row, without_first }: T.SummaryRequest,
      { signal }: Call,
    ): Promise<T.SummaryReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneText(opened, [prompt])
        const { definition, values } = await analyses.attentionSummary(read, ids[0]!, {
          kind,
          ...(pos === undefined ? {} : { pos }),
          ...(row === undefined ? {} : { row }),
          ...(without_first === undefined ? {} : { withoutFirst: without_first }),
          signal,
        })
        return { definition, tokens: view(read, ids[0]!), values }
      }),
  }
}

// --- Internal helpers ---

/** Prompts as A's ids, for a model that cannot read texts itself. */
function idsOfA(a: Model, prompts: readonly T.PromptInput[]): T.PromptInput[] {
  return prompts.map((prompt) => ({ ...prompt, ids: idsOf(a, prompt) }))
}
