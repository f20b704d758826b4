/**
 * What the compute worker does on the bench: one head of one prompt from first principles. In: the messages of
 * contract-inside.ts with folders in place of names. Out: plain data.
 */
import { HeadscopeError } from '../../errors.ts'
import { attentionHook, noSuchHook } from '../../graph/hook-names.ts'
import { decoderOf } from '../../graph/model-spec.ts'
import type * as headscope from '../../index.ts'
import { gradients } from '../../run/gradients-of.ts'
import type * as T from '../contract.ts'
import { decoderOwn } from './intervene.ts'
import type { ModelCache } from './model-cache.ts'
import { idsOf, oneText, tokenOf, view, words } from './prompt-input.ts'
import type { Call } from './rpc.ts'

type Model = headscope.Model

/** Steps of longer prompts are too many numbers for one answer. */
const LONGEST_BENCH = 256
/** Prompt lengths at which attention memory is shown. */
const LENGTHS = [128, 1024, 8192, 131_072]

/** Makes the table. */
export function createBenchMethods({
  first,
  models,
}: {
  first: typeof headscope.firstPrinciples
  models: ModelCache<Model>
}) {
  return {
    benchHead: (
      { model, prompt, answer, wrong, ...place }: T.BenchRequest,
      { signal }: Call,
    ): Promise<T.BenchReply> =>
      models.use(model, async (whole) => {
        const { opened, ids } = await benchText(whole, prompt)
        const run = await first.headRun(opened, ids, place, { signal })
        const query = within(place.query ?? ids.length - 1, ids.length, 'query')
        const key = within(place.key ?? 0, run.keyIds.length, 'key')
        const token = answer === undefined ? undefined : tokenOf(opened, answer)
        const asked = {
          ...(token === undefined ? {} : { answer: token }),
          ...(wrong === undefined ? {} : { wrong: tokenOf(opened, wrong) }),
        }
        const [item] = (await opened.run(ids, { signal, top: 1 })).items
        return {
          tokens: view(opened, ids),
          key_tokens: view(opened, run.keyIds),
          kv_head: run.kvHead,
          query,
          key,
          steps: first.headSteps(opened.spec, run),
          sharpness: first.sharpness(run),
          sources: await first.sourceContributions(
            opened,
            run,
            query,
            token === undefined ? undefined : { ...asked, answer: token },
          ),
          reach: first.scoreReach(run, query),
          curve: first.reachCurve(run, query, key),
          spectra: first.headSpectra(run),
          heads_add: await first.headsAdd(opened, ids, place.layer, place.cross),
          losses: item!.positions.map(({ loss }) => loss),
          loss: item!.loss,
        }
      }),

    benchEdit: ({
      model,
      prompt,
      layer,
      head,
      cross,
      noScale,
      ...changes
    }: T.BenchEditRequest): Promise<T.BenchEditReply> =>
      models.use(model, async (whole) => {
        const { opened, ids } = await benchText(whole, prompt)
        const options = { ...changes, ...(noScale ? { scale: 1 } : {}) }
        const { before, after, steps, predictions, moved } = await first.editStep(
          opened,
          ids,
          placeOf({ layer, head, cross }),
          options,
        )
        const shown = [...predictions.before, ...predictions.after].flatMap(({ top }) =>
          top.map(({ id }) => id),
        )
        return {
          tokens: view(opened, ids),
          key_tokens: view(opened, before.keyIds),
          steps,
          pattern: { before: grid(before.pattern), after: grid(after.pattern) },
          moved,
          predictions: { before: predictions.before, after: predictions.after },
          loss: { before: predictions.lossBefore, after: predictions.lossAfter },
          words: words(opened, shown),
        }
      }),

    benchBasis: ({ model, prompt, seed, ...place }: T.BasisRequest): Promise<T.BasisReply> =>
      models.use(model, async (whole) => {
        const { opened, ids } = await benchText(whole, prompt)
        const run = await first.headRun(opened, ids, placeOf(place))
        const { b: _, ...check } = await first.basisCheck(opened, run, seed)
        return check
      }),

    headGradients: ({
      model,
      prompt,
      layer,
      head,
      cross,
      metric,
      parameters,
    }: T.HeadGradientsRequest): Promise<T.HeadGradientsReply> =>
      models.use(model, async (whole) => {
        const { opened, ids } = await benchText(whole, prompt)
        const run = await first.headRun(opened, ids, placeOf({ layer, head, cross }))
        const block = await first.blockGradients(opened, ids, layer, metric, cross)
        const own = await first.headGradients(opened, block, head)
        const found = parameters ? first.parameterGradients(block, run) : null
        const matrix = (one: { rows: number; cols: number; data: Float64Array }): T.GridReply => ({
          shape: [one.rows, one.cols],
          values: Array.from(one.data),
        })
        return {
          tokens: view(opened, ids),
          value: own.value,
          pattern: grid(run.pattern),
          routing: grid(own.routing),
          sharpening: ids.map((_, query) =>
            first.sharpeningCurve(run, query, own.upstream.data.subarray(query * own.upstream.width)),
          ),
          upstream: grid(own.upstream),
          query: grid(own.query),
          key: grid(own.key),
          value_path: grid(own.valuePath),
          at_residual: {
            query: grid(own.atResidual.query),
            key: grid(own.atResidual.key),
            value: grid(own.atResidual.value),
            residual: grid(first.residualPath(block, run.spec)),
          },
          parameters: found && {
            q: matrix(found.q),
            k: matrix(found.k),
            v: matrix(found.v),
            o: matrix(found.o),
          },
        }
      }),

    patternGradient: (
      { model, prompt, of, layer, head, metric }: T.PatternGradientRequest,
      { signal }: Call,
    ): Promise<T.PatternGradientReply> =>
      models.use(model, async (opened) => {
        const hook = attentionHook(of, layer, 'hook_pattern')
        const own = decoderOwn(opened, prompt)
        if (!own || !opened.hooks.some(({ name }) => name === hook))
          throw new HeadscopeError(
            'bad-request',
            noSuchHook(
              hook,
              opened.hooks.map(({ name }) => name),
            ),
          )
        const options = { metric, hooks: [hook], decoderIds: [own], signal }
        const found = await gradients(opened, [idsOf(opened, prompt)], options)
        const { data, shape } = found.grads.get(hook)!
        const [, heads, rows, width] = shape as [number, number, number, number]
        if (head >= heads)
          throw new HeadscopeError(
            'bad-request',
            `There is no head ${head}: heads of layer ${layer} are 0 to ${heads - 1}.`,
          )
        const size = rows * width
        return {
          value: found.metric.value,
          gradient: grid({ data: data.subarray(head * size, (head + 1) * size), rows, width }),
        }
      }),

    nudge: ({
      model,
      prompt,
      layer,
      head,
      cross,
      query,
      key,
      epsilon,
      metric,
    }: T.NudgeRequest): Promise<T.NudgeReply> =>
      models.use(model, async (whole) => {
        const { opened, ids } = await benchText(whole, prompt)
        return first.nudge(opened, ids, placeOf({ layer, head, cross }), { query, key }, epsilon, metric)
      }),

    accounting: ({ model }: { model: string }): Promise<T.AccountingReply> =>
      models.use(model, (opened) => {
        const { spec, parameters } = opened
        const { layers } = decoderOf(spec)
        const [layer] = layers
        const sizes = {
          layers: layers.length,
          dModel: spec.dModel,
          heads: layer!.nHeads,
          kvHeads: layer!.nKvHeads,
          dHead: layer!.dHead,
          dMlp: layer!.dMlp,
          gated: layer!.gated,
          vocab: spec.dVocab,
          positions: parameters.positional / spec.dModel,
          tied: spec.tied,
        }
        const column = (of: typeof first.GPT3) => ({
          counts: first.accounting(of),
          memory: first.attentionMemory(of, LENGTHS),
        })
        const own = column(sizes)
        // Experts, alternating widths and fused embeddings are counted from the file's own tensors.
        const counts = {
          ...own.counts,
          attention: parameters.attention,
          mlp: parameters.mlp + parameters.router,
        }
        const { attention, mlp, embedding, unembedding, positions } = counts
        const all = attention + mlp + embedding + unembedding + positions
        return { model: { ...own, counts: { ...counts, all } }, gpt3: column(first.GPT3) }
      }),
  }
}

// --- Internal helpers ---

/** The model and the ids whose heads are taken apart: of an encoder–decoder the decoder over the prompt's text. */
async function benchText(model: Model, prompt: T.PromptInput): Promise<{ opened: Model; ids: number[] }> {
  const { model: opened, ids } = await oneText(model, [prompt])
  const [own] = ids
  const longest = Math.max(own!.length, opened.engine().reads?.ids[0]?.length ?? 0)
  if (longest <= LONGEST_BENCH) return { opened, ids: [...own!] }
  throw new HeadscopeError(
    'bad-request',
    `The prompt has ${longest} tokens, but a head is taken apart on ${LONGEST_BENCH} at most; choose a shorter prompt.`,
  )
}

/** A head as the bench takes it. */
function placeOf({
  layer,
  head,
  cross,
}: Pick<T.BenchRequest, 'layer' | 'head'> & { cross?: boolean | undefined }) {
  return { layer, head, ...(cross ? { cross } : {}) }
}

function within(index: number, length: number, name: string): number {
  if (index < length) return index
  throw new HeadscopeError(
    'bad-request',
    `There is no ${name} ${index}: its text has ${length} tokens, numbered from 0.`,
  )
}

/** Rows as plain numbers; what is not finite (a hidden score) is null. */
function grid({ data, rows, width }: headscope.firstPrinciples.Rows): T.GridReply {
  return {
    shape: [rows, width],
    values: Array.from(data, (value) => (Number.isFinite(value) ? value : null)),
  }
}
