/**
 * Path patching (Goldowsky-Dill et al. 2304.05969; Wang et al. 2211.00593): what a sender says to one receiver alone.
 * (1) the clean prompt runs with the sender's output from the corrupt prompt and every other head's output held at its
 * clean value; the receiver's own input (q, k or v of a head, an MLP's pre-activations) is recorded; (2) the clean
 * prompt runs with only that input replaced. MLPs between are held too (`freeze`) or carry the change on (`recompute`).
 *
 * In: two prompts, and edges: every sender with every receiver, or the edges of a circuit one by one. Out: a cell an
 * edge. Cost: three forwards, a held pass a sender (those of one layer in one batch), a restart an edge.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import { type Metric, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { throwIfCancelled } from '../run/pass.ts'
import { checkPrompts } from '../run/prompts.ts'
import {
  alignPrompts,
  captureRun,
  metricOfState,
  type Readers,
  readersOf,
  requireCausal,
  sourceLength,
  sweepBase,
} from './base.ts'
import { finiteOr } from './collect.ts'
import {
  type PathEdge,
  type Receiver,
  reaches,
  readReceiver,
  readSender,
  readsSource,
  type Sender,
} from './path-names.ts'
import { type Edge, estimateEdges, groupEdges, groupRows, runGroup, senderHook } from './path-run.ts'
import type { SweepEstimate, SweepOptions } from './types.ts'

export interface PathCell extends PathEdge {
  readonly value: number | null
  /** value - the clean run's. */
  readonly delta: number | null
  readonly why?: string
}

/** What is asked: every sender with every receiver, or edges one by one. */
export type PathPlan =
  | {
      /** `embed`, `source`, `L5H1`, `L5H1.cross`, `L3.mlp`; `all`: every sender that reaches one of the receivers. */
      readonly from: readonly string[]
      /** `L7H2.q`, `L7H2.k`, `L7H2.v`, `L7H2.cross.q` (k, v), `L7.mlp`, `logits`. */
      readonly to: readonly string[]
      readonly edges?: undefined
    }
  | { readonly edges: readonly PathEdge[]; readonly from?: undefined; readonly to?: undefined }

export type PathOptions = PathPlan &
  Pick<SweepOptions<PathCell>, 'signal' | 'onProgress' | 'onCells' | 'known'> & {
    readonly metric: Metric
    /** MLPs between a sender and its receiver; default: recompute. */
    readonly mlps?: 'freeze' | 'recompute'
    /** Who reads the corrupt prompt, where its source is another: `model.reading` of that. Default: the same model. */
    readonly corruptModel?: Model
    readonly onEstimate?: (estimate: SweepEstimate) => void
  }

export interface PathPatched {
  readonly clean: number
  readonly corrupt: number
  /** In the order of the plan: receivers within senders, or the edges as given. */
  readonly cells: readonly PathCell[]
  readonly mlps: 'freeze' | 'recompute'
  readonly warnings: readonly string[]
}

/** Throws `bad-edit` for names that this model lacks, `bad-prompt` for prompts that cannot be aligned. */
export async function pathPatch(
  model: Model,
  clean: readonly number[],
  corrupt: readonly number[],
  options: PathOptions,
): Promise<PathPatched> {
  requireCausal(model, 'Path patching')
  const { mlps = 'recompute', signal } = options
  if (mlps !== 'freeze' && mlps !== 'recompute')
    throw new HeadscopeError('bad-edit', `"${mlps}" is not a way to treat MLPs; use freeze or recompute.`)
  const warnings = checkPrompts([clean, corrupt], model.spec)
  const readers = readersOf(model, options.corruptModel)
  const differing = alignPrompts(clean, corrupt, readers.together)
  const metric = resolveMetric(options.metric, [clean], model.spec.dVocab, model.tokenizer)
  const edges = edgesOf(readers, options)
  warnings.push(...sharedInputs(model, edges))
  const engine = model.engine()
  const corruptEngine = readers.corrupt.engine()
  const base = await sweepBase(engine, clean, metric, signal)
  const written = new Set(engine.hooks.map(({ name }) => name).filter((name) => WRITTEN.test(name)))
  const own = await captureRun(engine, clean, written, signal)
  const from = await captureRun(
    corruptEngine,
    corrupt,
    new Set([...written, blockHook(0, 'hook_resid_pre')]),
    signal,
  )
  // kl is measured from the clean run, at both ends.
  const end = await metricOfState(corruptEngine, from.state, metric, base.rows)

  const known = new Map((options.known ?? []).map((cell) => [edgeKey(cell), cell]))
  const done = new Map<string, PathCell>()
  const keep = (cells: readonly PathCell[]) => {
    for (const cell of cells) done.set(edgeKey(cell), cell)
    if (cells.length > 0) options.onCells?.(cells)
  }
  const todo: Edge[] = []
  const never: PathCell[] = []
  for (const edge of edges) {
    const { sender, receiver } = edge
    const cell = known.get(edgeKey(namesOf(edge)))
    if (cell) done.set(edgeKey(cell), cell)
    else if (reaches(sender, receiver, isParallel(model, sender))) todo.push(edge)
    else never.push(withoutPath(edge))
  }
  const context = {
    engine,
    corruptEngine,
    base,
    metric,
    own: own.captured,
    from: from.captured,
    first: readers.together ? differing[0]! : 0,
    mlps,
    signal,
  }
  const groups = groupEdges(todo, clean.length)
  options.onEstimate?.(estimateEdges(context, groups, edges.length))
  keep(never)
  const total = groups.reduce((sum, group) => sum + groupRows(context, group), 0)
  const started = performance.now()
  let rows = 0
  for (const group of groups) {
    throwIfCancelled(signal)
    const values = await runGroup(context, group)
    keep(
      group.edges.map((edge, i) => {
        const finite = finiteOr(values[i]!)
        const delta = finite.value === null ? null : finite.value - base.value
        return { ...namesOf(edge), ...finite, delta }
      }),
    )
    rows += groupRows(context, group)
    const seconds = (performance.now() - started) / 1000
    options.onProgress?.({
      done: done.size,
      total: edges.length,
      secondsLeft: (seconds / rows) * (total - rows),
    })
  }
  const cells = edges.map((edge) => done.get(edgeKey(namesOf(edge)))!)
  return { clean: base.value, corrupt: end, cells, mlps, warnings }
}

/** A sender's name. Throws `bad-edit` naming the form and the range. */
export function parseSender(name: string, model: Model): Sender {
  const sender = readSender(name)
  if (!sender)
    throw new HeadscopeError(
      'bad-edit',
      `"${name}" is not a sender; write a head as L5H1, an MLP as L3.mlp, the embedding as embed, an encoder's text as source, or all.`,
    )
  if (sender.part === 'embed') return sender
  if (sender.part === 'source') {
    if (crosses(model)) return sender
    throw new HeadscopeError(
      'bad-edit',
      'This model reads no source beside its prompt, so source sends nothing.',
    )
  }
  checkPlace(sender, model)
  if (!model.hooks.some((hook) => hook.name === senderHook(sender)))
    throw new HeadscopeError('bad-edit', `This model has no cross-attention, so there is no ${name}.`)
  return sender
}

/** A receiver's name. Throws `bad-edit` naming the form and the range. */
export function parseReceiver(name: string, model: Model): Receiver {
  const receiver = readReceiver(name)
  if (!receiver)
    throw new HeadscopeError(
      'bad-edit',
      `"${name}" is not a receiver; write L7H2.q, L7H2.k, L7H2.v (of cross-attention L7H2.cross.q), L7.mlp or logits.`,
    )
  if (receiver.part === 'logits') return receiver
  checkPlace(receiver, model)
  if (receiver.cross && !crosses(model))
    throw new HeadscopeError('bad-edit', `This model has no cross-attention, so there is no ${name}.`)
  const { layer, part } = receiver
  if (part === 'mlp' && !model.hooks.some((hook) => hook.name === blockHook(layer, 'mlp.hook_pre')))
    throw new HeadscopeError(
      'bad-edit',
      `${name} is a mixture of experts, which has no single input to replace; choose heads or logits.`,
    )
  return receiver
}

// --- Internal helpers ---

/** What heads and MLPs write. */
const WRITTEN = /(?:attn\.hook_z|hook_mlp_out)$/

/** How an edge is told from the others. */
function edgeKey({ from, to }: PathEdge): string {
  return `${from} ${to}`
}

function namesOf({ sender, receiver }: Edge): PathEdge {
  return { from: sender.name, to: receiver.name }
}

/** The edges of a plan, each once. */
function edgesOf(readers: Readers, plan: PathPlan): Edge[] {
  const model = readers.clean
  const pairs = plan.edges
    ? plan.edges.map(({ from, to }) => ({
        sender: parseSender(from, model),
        receiver: parseReceiver(to, model),
      }))
    : product(readers, plan.from, plan.to)
  if (pairs.length === 0)
    throw new HeadscopeError('bad-edit', 'There is no edge to patch; name at least one sender and receiver.')
  const [own, other] = [sourceLength(model), sourceLength(readers.corrupt)]
  if (own !== other && pairs.some(({ sender }) => sender.part === 'source'))
    throw new HeadscopeError(
      'bad-prompt',
      `The clean source has ${own} tokens and the corrupt one ${other}, and source is heard token by token; use sources of one length, or other senders.`,
    )
  return [...new Map(pairs.map((edge) => [edgeKey(namesOf(edge)), edge] as const)).values()]
}

function product(readers: Readers, from: readonly string[], to: readonly string[]): Edge[] {
  const model = readers.clean
  const receivers = to.map((name) => parseReceiver(name, model))
  return from.flatMap((name) => {
    if (name !== 'all') {
      const sender = parseSender(name, model)
      return receivers.map((receiver) => ({ sender, receiver }))
    }
    return everySender(readers).flatMap((sender) =>
      receivers
        .filter((receiver) => reaches(sender, receiver, isParallel(model, sender)))
        .map((receiver) => ({ sender, receiver })),
    )
  })
}

/** Where both read the same source, or sources of two lengths, that says nothing that could be measured. */
function everySender({ clean: model, corrupt, together }: Readers): Sender[] {
  const cross = crosses(model)
  const source = cross && !together && sourceLength(model) === sourceLength(corrupt)
  const names = decoderOf(model.spec).layers.flatMap(({ nHeads }, layer) => {
    const heads = Array.from({ length: nHeads }, (_, head) => headName(layer, head))
    return [...heads, ...(cross ? heads.map((name) => `${name}.cross`) : []), `L${layer}.mlp`]
  })
  return ['embed', ...(source ? ['source'] : []), ...names].map((name) => readSender(name)!)
}

/** Whether the decoder looks at an encoder's text. */
function crosses(model: Model): boolean {
  return model.hooks.some(({ name }) => name === blockHook(0, 'cross_attn.hook_z'))
}

function isParallel(model: Model, { layer }: Sender): boolean {
  return decoderOf(model.spec).layers[layer]?.parallel ?? false
}

function checkPlace({ name, layer, head }: Sender | Receiver, model: Model): void {
  const { layers } = decoderOf(model.spec)
  const spec = layers[layer]
  if (!spec)
    throw new HeadscopeError('bad-edit', `${name}: layers of this model are 0 to ${layers.length - 1}.`)
  if (head !== null && head >= spec.nHeads)
    throw new HeadscopeError(
      'bad-edit',
      `There is no head ${headName(layer, head)}: heads of layer ${layer} are 0 to ${spec.nHeads - 1}.`,
    )
}

/** Under grouped keys and values a receiver's k or v is that of several heads: who they are. */
function sharedInputs(model: Model, edges: readonly Edge[]): string[] {
  const said = new Map<string, string>()
  for (const { receiver } of edges) {
    const { name, layer, head, part } = receiver
    if (head === null || (part !== 'k' && part !== 'v')) continue
    const { nHeads, nKvHeads } = decoderOf(model.spec).layers[layer]!
    const size = nHeads / nKvHeads
    if (size === 1) continue
    const first = Math.floor(head / size) * size
    const at = receiver.cross ? '.cross' : ''
    const heads = Array.from({ length: size }, (_, i) => `${headName(layer, first + i)}${at}`).join(', ')
    said.set(name, `${name} is shared: ${heads} read the same ${part === 'k' ? 'keys' : 'values'}.`)
  }
  return [...said.values()]
}

function withoutPath(edge: Edge): PathCell {
  const { sender, receiver } = edge
  const why = readsSource(receiver)
    ? `${receiver.name} is made from the source alone, so there is no path from ${sender.name}`
    : sender.part === 'source'
      ? `the source is heard through keys and values of cross-attention alone, so there is no path to ${receiver.name}`
      : `${sender.name} comes after ${receiver.name}, so there is no path`
  return { ...namesOf(edge), value: null, delta: null, why }
}
