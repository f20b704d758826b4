/**
 * What the compute worker does inside a model: residual stream and weights. In: the
 * messages of contract-inside.ts with folders in place of names. Out: plain data.
 */
import type * as headscope from '../../index.ts'
import type * as T from '../contract.ts'
import type { ModelCache } from './model-cache.ts'
import { oneText, tokenOf, view, words } from './prompt-input.ts'
import type { Call } from './rpc.ts'
import type { WorkspaceWrites } from './workspace-writes.ts'

/** The analyses as core/index.ts has them. */
export type InsideAnalyses = Pick<
  typeof headscope,
  | 'logitLens'
  | 'LENS_DEFINITION'
  | 'patchedLens'
  | 'directLogitAttribution'
  | 'DLA_DEFINITION'
  | 'residualStream'
  | 'residualGeometry'
  | 'positionCosines'
  | 'residualChange'
  | 'contextShift'
  | 'compoundConvergence'
  | 'nearestTokens'
  | 'weightAnalysis'
  | 'copyingScores'
  | 'tokenPairs'
>
type Model = headscope.Model

/** Makes the table. */
export function createInsideMethods({
  analyses,
  models,
  workspace,
}: {
  analyses: InsideAnalyses
  models: ModelCache<Model>
  workspace: Pick<WorkspaceWrites, 'openRun'>
}) {
  /** A lens with the words for its tokens. */
  const worded = <L extends headscope.Lens>(opened: Model, ids: readonly number[], found: L) => ({
    ...found,
    definition: analyses.LENS_DEFINITION,
    tokens: view(opened, ids),
    words: words(
      opened,
      found.layers.flatMap(({ positions }) => positions.flatMap(({ top }) => top.map(({ id }) => id))),
    ),
  })

  return {
    lens: (
      { model, prompt, answer, ...rest }: T.LensRequest,
      { signal, progress }: Call,
    ): Promise<T.LensReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneOf(opened, prompt)
        const found = await analyses.logitLens(read, [ids], {
          ...rest,
          ...(answer === undefined ? {} : { answer: tokenOf(opened, answer) }),
          openRun: workspace.openRun,
          signal,
          onProgress: progress,
        })
        return worded(opened, ids, found)
      }),

    patched: (
      { model, from, to, answer, ...rest }: T.PatchedRequest,
      { signal, progress }: Call,
    ): Promise<T.PatchedReply> =>
      models.use(model, async (opened) => {
        const { read, ids, cells } = await twoCells(opened, from, to)
        const found = await analyses.patchedLens(read, ...cells, {
          ...rest,
          ...(answer === undefined ? {} : { answer: tokenOf(opened, answer) }),
          signal,
          onProgress: progress,
        })
        return worded(opened, ids, found)
      }),

    dla: (
      { model, prompt, answer, wrong, value_bias, ...rest }: T.DlaRequest,
      { signal }: Call,
    ): Promise<T.DlaReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneOf(opened, prompt)
        const found = await analyses.directLogitAttribution(read, ids, {
          ...rest,
          answer: tokenOf(opened, answer),
          ...(wrong === undefined ? {} : { wrong: tokenOf(opened, wrong) }),
          ...(value_bias === undefined ? {} : { valueBias: value_bias }),
          signal,
        })
        return { ...found, definition: analyses.DLA_DEFINITION, tokens: view(opened, ids) }
      }),

    geometry: (
      { model, prompt, border, edits }: T.GeometryRequest,
      { signal }: Call,
    ): Promise<T.GeometryReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneOf(opened, prompt)
        const stream = await analyses.residualStream(read, ids, { ...(edits ? { edits } : {}), signal })
        return {
          ...analyses.residualGeometry(stream),
          tokens: view(opened, ids),
          positions: border === undefined ? null : analyses.positionCosines(stream, border),
        }
      }),

    change: ({ model, from, to }: T.ChangeRequest): Promise<T.ChangeReply> =>
      models.use(model, async (opened) => {
        const { read, cells } = await twoCells(opened, from, to)
        return analyses.residualChange(read, ...cells)
      }),

    contexts: ({ model, places }: T.ContextsRequest, { signal }: Call): Promise<T.ContextsReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneText(
          opened,
          places.map(({ prompt }) => prompt),
        )
        const given = places.map(({ pos }, i) => ({ ids: ids[i]!, pos }))
        const found = await analyses.contextShift(read, given, signal)
        return { ...found, tokens: given.map(({ ids }) => view(opened, ids)) }
      }),

    compound: ({ model, prompt, positions }: T.CompoundRequest, { signal }: Call): Promise<T.CompoundReply> =>
      models.use(model, async (opened) => {
        const { model: read, ids } = await oneOf(opened, prompt)
        const stream = await analyses.residualStream(read, ids, { signal })
        return { ...analyses.compoundConvergence(stream, positions), tokens: view(opened, ids) }
      }),

    neighbours: (
      { model, expression, count }: T.NeighboursRequest,
      { signal }: Call,
    ): Promise<T.NeighboursReply> =>
      models.use(model, async (opened) => {
        const options = { ...(count === undefined ? {} : { count }), signal }
        const found = await analyses.nearestTokens(opened, expression, options)
        const ids = [...found.terms, ...found.neighbours].map(({ id }) => id)
        return { ...found, words: words(opened, ids) }
      }),

    weights: ({ model, ...options }: T.WeightsRequest, { signal, progress }: Call): Promise<T.WeightsReply> =>
      models.use(model, async (opened) => {
        const found = await analyses.weightAnalysis(opened, { ...options, signal, onProgress: progress })
        return { ...found, copying: await analyses.copyingScores(opened, signal) }
      }),

    pairs: (
      { model, layer, head, circuit, count }: T.PairsRequest,
      { signal, progress }: Call,
    ): Promise<T.PairsReply> =>
      models.use(model, async (opened) => {
        const options = { circuit, ...(count === undefined ? {} : { count }), signal, onProgress: progress }
        const pairs = await analyses.tokenPairs(opened, { layer, head }, options)
        const ids = pairs.flatMap(({ input, output }) => [input, output])
        return { pairs, words: words(opened, ids) }
      }),
  }
}

// --- Internal helpers ---

/** One prompt, and the model that reads it. */
async function oneOf(opened: Model, prompt: T.PromptInput) {
  const { model, ids } = await oneText(opened, [prompt])
  return { model, ids: ids[0]! }
}

/** Two cells of residual streams, each with its prompt's ids; `ids` are those of the second. */
async function twoCells(opened: Model, from: T.CellInput, to: T.CellInput) {
  const { model: read, ids } = await oneText(opened, [from.prompt, to.prompt])
  const cell = ({ prompt: _, ...place }: T.CellInput, i: number) => ({ ids: ids[i]!, ...place })
  return { read, ids: ids[1]!, cells: [cell(from, 0), cell(to, 1)] as const }
}
