/**
 * The runs behind path patching. In: edges in groups, each the senders of one kind and layer; what heads and MLPs write on
 * both prompts. Out: the metric of each edge. A group's senders share one held pass, an item each; its receivers then
 * restart together. Cost in block × rows: what `groupRows` says.
 */
import { blockHook } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { type Dense, slice } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import type { ResolvedMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { runPass, type State } from '../run/pass.ts'
import type { HookInfo } from '../run/segments.ts'
import { metricsOf, type SweepBase } from './base.ts'
import type { Receiver, Sender } from './path-names.ts'
import {
  batchEdits,
  type CellEdit,
  ROWS_PER_BATCH,
  repeated,
  repeatedPast,
  runSweep,
  type SweepCell,
} from './sweep.ts'
import type { SweepEstimate } from './types.ts'

export interface Edge {
  readonly sender: Sender
  readonly receiver: Receiver
}

/** Edges whose senders are of one kind and one layer: they share a held pass. */
export interface EdgeGroup {
  readonly senders: readonly Sender[]
  readonly edges: readonly Edge[]
}

export interface PathContext {
  readonly engine: Engine
  /** Where the corrupt prompt is read: over its own source, if that is another. */
  readonly corruptEngine: Engine
  readonly base: SweepBase
  readonly metric: ResolvedMetric
  /** What heads and MLPs write on the clean prompt, by hook name. */
  readonly own: ReadonlyMap<string, Tensor>
  /** The same on the corrupt prompt, and `blocks.0.hook_resid_pre`. */
  readonly from: ReadonlyMap<string, Tensor>
  /** First position at which the prompts differ: before it nothing changes. */
  readonly first: number
  readonly mlps: 'freeze' | 'recompute'
  readonly signal: AbortSignal | undefined
}

/** Groups of edges of prompts of `length` tokens, in the order of their layers. */
export function groupEdges(edges: readonly Edge[], length: number): EdgeGroup[] {
  const most = Math.max(1, Math.floor(ROWS_PER_BATCH / length))
  const bySender = new Map<string, Edge[]>()
  for (const edge of edges) bySender.set(edge.sender.name, [...(bySender.get(edge.sender.name) ?? []), edge])
  const open = new Map<string, { senders: Sender[]; edges: Edge[] }>()
  const groups: { senders: Sender[]; edges: Edge[] }[] = []
  for (const own of bySender.values()) {
    const { sender } = own[0]!
    const key = `${sender.layer} ${sender.part}`
    const now = open.get(key)
    if (now && now.senders.length < most) {
      now.senders.push(sender)
      now.edges.push(...own)
    } else {
      const group = { senders: [sender], edges: [...own] }
      open.set(key, group)
      groups.push(group)
    }
  }
  return groups.sort((one, other) => one.senders[0]!.layer - other.senders[0]!.layer)
}

/** Block × rows of a group: its held pass, and the restarts of its receivers. */
export function groupRows({ engine, base, first }: PathContext, { senders, edges }: EdgeGroup): number {
  const layers = decoderOf(engine.model.spec).layers.length
  const length = base.run.ids[0]!.length
  const held = senders.length * (layers - Math.max(0, senders[0]!.layer)) * length
  return edges.reduce(
    (sum, { receiver }) => sum + Math.max(0, layers - receiver.layer) * (length - first),
    held,
  )
}

/** What path patching will cost. `cells`: edges of the plan, those without a path and those known included. */
export function estimateEdges(
  context: PathContext,
  groups: readonly EdgeGroup[],
  cells: number,
): SweepEstimate {
  const { base, engine } = context
  const layers = decoderOf(engine.model.spec).layers.length
  const length = base.run.ids[0]!.length
  const bytes = (tensors: Iterable<{ readonly data: { readonly byteLength: number } }>) =>
    [...tensors].reduce((sum, { data }) => sum + data.byteLength, 0)
  const blockRows = groups.reduce((sum, group) => sum + groupRows(context, group), 0)
  return {
    cells,
    blockRows,
    baseBytes:
      bytes(context.own.values()) +
      bytes(context.from.values()) +
      bytes(base.run.borders.flatMap((state) => [...state.values()])) +
      bytes(base.run.keyValues.flatMap(({ k, v }) => [k, v])),
    seconds: (base.seconds * blockRows) / (layers * length),
  }
}

/** The hook at which a sender writes. The embedding has none, it is the state before the first block; nor has the source. */
export function senderHook({ layer, part }: Sender): string {
  const local = {
    embed: 'hook_resid_pre',
    source: 'hook_resid_pre',
    head: 'attn.hook_z',
    cross: 'cross_attn.hook_z',
    mlp: 'hook_mlp_out',
  }
  return blockHook(Math.max(0, layer), local[part])
}

/** The metric of each edge of a group, in their order. Throws `cancelled`. */
export async function runGroup(context: PathContext, group: EdgeGroup): Promise<number[]> {
  const { engine, base, metric } = context
  const inputs = new Map(
    group.edges.map(({ receiver }) => [receiver.name, inputsOf(receiver, engine.model, engine.hooks)]),
  )
  const wanted = new Set([...inputs.values()].flat().map(({ hook }) => hook.name))
  const { state, recorded } = await heldPass(context, group.senders, wanted)
  const itemOf = new Map(group.senders.map(({ name }, item) => [name, item]))
  const values = new Array<number>(group.edges.length).fill(Number.NaN)
  const cells: SweepCell<number>[] = []
  group.edges.forEach(({ sender, receiver }, key) => {
    if (receiver.part === 'logits') return
    const item = itemOf.get(sender.name)!
    const edits = inputs.get(receiver.name)!.map(({ hook, head }): CellEdit => {
      const value = slice(recorded.get(hook.name)!, 0, item, item + 1)
      return { hook, head, pos: null, value }
    })
    cells.push({ key, layer: receiver.layer, pos: context.first, edits })
  })
  await runSweep(
    engine,
    base,
    cells,
    metric,
    (results) => {
      for (const { key, value } of results) values[key] = value
    },
    context.signal,
  )
  if (group.edges.some(({ receiver }) => receiver.part === 'logits')) {
    // What reaches the logits on the straight way.
    const ends = await metricsOf(engine, state, 0, metric, base.rows)
    group.edges.forEach(({ sender, receiver }, i) => {
      if (receiver.part === 'logits') values[i] = ends[itemOf.get(sender.name)!]!
    })
  }
  return values
}

// --- Internal helpers ---

/** Hooks that hold a receiver's input, with the head (or kv head) of each; none for the logits. */
function inputsOf(
  receiver: Receiver,
  { spec }: Pick<Model, 'spec'>,
  hooks: readonly HookInfo[],
): { hook: HookInfo; head: number | null }[] {
  if (receiver.part === 'logits') return []
  const { nHeads, nKvHeads } = decoderOf(spec).layers[receiver.layer]!
  const { head } = receiver
  const kvHead = head === null ? null : Math.floor(head / (nHeads / nKvHeads))
  const attention = receiver.cross ? 'cross_attn' : 'attn'
  const byName = (local: string) => hooks.find(({ name }) => name === blockHook(receiver.layer, local))
  switch (receiver.part) {
    case 'q':
      return [{ hook: byName(`${attention}.hook_rot_q`)!, head }]
    case 'k':
      return [{ hook: byName(`${attention}.hook_rot_k`)!, head: kvHead }]
    case 'v':
      return [{ hook: byName(`${attention}.hook_v`)!, head: kvHead }]
    default:
      return [byName('mlp.hook_pre'), byName('mlp.hook_pre_linear')]
        .filter((hook) => hook !== undefined)
        .map((hook) => ({ hook, head: null }))
  }
}

/** The clean run from the senders' layer on, an item a sender, with every head (and MLP) held at its clean output. */
async function heldPass(
  context: PathContext,
  senders: readonly Sender[],
  wanted: ReadonlySet<string>,
): Promise<{ state: State; recorded: Map<string, Tensor> }> {
  const { base, own, from, mlps, signal } = context
  const { part } = senders[0]!
  const engine = part === 'source' ? context.corruptEngine : context.engine
  const [ids, layer] = [base.run.ids[0]!, Math.max(0, senders[0]!.layer)]
  const held = engine.hooks.filter(({ name, segment }) => {
    if (typeof segment !== 'number' || segment < layer) return false
    return own.has(name) && (mlps === 'freeze' || !name.endsWith('hook_mlp_out'))
  })
  const cell = (hook: HookInfo, head: number | null, value: Dense): SweepCell<null> => ({
    key: null,
    layer,
    pos: 0,
    edits: [{ hook, head, pos: null, value }],
  })
  const edits = held.flatMap((hook) =>
    batchEdits(
      senders.map(() => cell(hook, null, own.get(hook.name)!)),
      ids.length,
    ),
  )
  const border = new Map([...base.run.borders[layer]!])
  const said = senderHook(senders[0]!)
  if (part === 'embed') border.set('resid', from.get(said)!)
  else if (part !== 'source') {
    const hook = engine.hooks.find(({ name }) => name === said)!
    const value = from.get(said)!
    edits.push(
      ...batchEdits(
        senders.map(({ head }) => cell(hook, head, value)),
        ids.length,
      ),
    )
  }
  const recorded = new Map<string, Tensor>()
  const { state } = await runPass(engine, {
    ids: senders.map(() => ids),
    lengths: senders.map(() => ids.length),
    start: 0,
    total: ids.length,
    from: { layer, state: repeatedState(border, senders.length) },
    // Nothing before the first row; but what was made of the source is met again, unless it is what changes.
    ...(part === 'source'
      ? {}
      : { past: base.run.keyValues.map((one) => repeatedPast(one, 0, senders.length)) }),
    wanted,
    edits,
    signal,
    onTensor: (info, tensor) => {
      recorded.set(info.name, tensor)
    },
  })
  return { state, recorded }
}

function repeatedState(state: State, count: number): State {
  return new Map([...state].map(([part, value]) => [part, repeated(value, count)]))
}
