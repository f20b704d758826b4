/**
 * Value and gradient of a metric through the end of the model. Only the rows that the metric looks at are unembedded;
 * the gradient of the others is 0. A metric of one or two logits reads only their rows of the matrix.
 */
import type { Graph } from '../graph/builder.ts'
import { differentiate, gradName } from '../graph/gradients.ts'
import { type Dense, itemOf, slice } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment, segmentGraph, type Variant } from './engine.ts'
import { type Keep, onPath, zeros } from './gradient-hooks.ts'
import { fewTokens, type MetricRows, metricGradient, metricValue, type ResolvedMetric } from './metrics.ts'
import { editInputs, type State } from './pass.ts'
import { type Segment, stateInput } from './segments.ts'
import { asFloats, type Feed } from './session.ts'
import { askingTokens, TOKENS, tokensFeed } from './token-logits.ts'

/** The metric's value, and ∂metric/∂(last state) by part. Throws what a run throws. */
export async function unembedBackward(
  engine: Engine,
  state: State,
  request: { readonly metric: ResolvedMetric; readonly base?: MetricRows | null },
  edits: readonly ResolvedEdit[],
  wanted: ReadonlySet<string>,
  keep: Keep,
): Promise<{ value: number; upstream: Map<string, Dense> }> {
  const { positions, item } = request.metric
  const resid = state.get('resid')!
  const [batch, rows] = resid.shape as [number, number, number]
  const segment: Segment = 'unembed'
  const first = positions[0]!
  const count = positions.at(-1)! + 1 - first
  const own = slice(slice(resid, 0, item, item + 1), 1, first, first + count) // [1, count, d_model]
  const window = { start: first, rows: count, keys: first + count }
  const { slots, inputs } = editInputs(editsOf(edits, item), segment, window)
  const forwardFeeds = new Map<string, Feed>([...inputs, [stateInput('resid'), own]])
  const path = onPath(wanted, '').filter((name) => !name.startsWith('blocks.'))
  const hooks = engine.hooks.filter((hook) => hook.segment === segment && wanted.has(hook.name))
  const few = slots.length === 0 && hooks.length === 0 ? fewTokens(request.metric) : null
  const metric = few?.metric ?? request.metric
  if (few) forwardFeeds.set(TOKENS, tokensFeed(few.tokens))
  const transform = (graph: Graph) => (few ? askingTokens(graph, engine.matrix) : graph)
  const kind = few ? 'of few tokens' : 'of all tokens'
  const plain: Variant = { key: kind, onPath: path, transform }
  const logits = asFloats(
    (await runSegment(engine, segment, ['logits'], slots, forwardFeeds, plain)).get('logits')!,
  ).data
  const base = request.base ?? null
  const value = metricValue(metric, logits, base)
  const gradient = metricGradient(metric, logits, base)

  const forward = transform(segmentGraph(engine, segment, slots, path))
  const both = differentiate(forward, null, ['logits'], [stateInput('resid')])
  const outputs = [
    stateInput('resid'),
    ...hooks.filter((h) => both.reached.has(h.name)).map((h) => h.name),
  ].map(gradName)
  const seeds: Dense = { data: gradient, shape: [1, count, gradient.length / count] }
  const feeds = new Map<string, Feed>([...forwardFeeds, [gradName('logits'), seeds]])
  const variant: Variant = { key: `backward ${kind}`, onPath: path, transform: () => both.graph }
  const result = await runSegment(engine, segment, outputs, slots, feeds, variant)

  const place = (part: Dense): Dense => {
    const size = part.shape[2]!
    const data = new Float32Array(batch * rows * size)
    data.set(part.data, (item * rows + first) * size)
    return { data, shape: [batch, rows, size] }
  }
  for (const hook of hooks) {
    const grad = result.get(gradName(hook.name))
    await keep(hook, grad ? place(asFloats(grad)) : zeros(hook, batch, rows))
  }
  const upstream = new Map([['resid', place(asFloats(result.get(gradName(stateInput('resid')))!))]])
  for (const [part, dense] of state)
    if (part !== 'resid')
      upstream.set(part, { data: new Float32Array(dense.data.length), shape: dense.shape })
  return { value, upstream }
}

// --- Internal helpers ---

/** Edits as one item of the batch sees them. */
function editsOf(edits: readonly ResolvedEdit[], item: number): ResolvedEdit[] {
  return edits.map(({ value, mask, ...edit }) => ({
    ...edit,
    value: itemOf(value, item),
    mask: mask && itemOf(mask, item),
  }))
}
