/**
 * Path patching (Goldowsky-Dill et al. 2304.05969; Wang et al. 2211.00593): what a sender says to one receiver alone.
 * (1) the clean prompt runs with the sender's output from the corrupt prompt and every other head's output held at its
 * clean value; the receiver's own input (q, k or v of a head, an MLP's pre-activations) is recorded; (2) the clean
 * prompt runs with only that input replaced. MLPs between are held too (`freeze`) or carry the change on (`recompute`).
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, headName } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { type Dense, slice } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import { type Metric, metricValue, type ResolvedMetric, resolveMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { runPass, type State } from '../run/pass.ts'
import { logitsOf } from '../run/predictions.ts'
import { checkPrompts } from '../run/prompts.ts'
import type { HookInfo } from '../run/segments.ts'
import { alignPrompts, captureHooks, requireCausal, type SweepBase, sweepBase } from './base.ts'
import { finiteOr } from './collect.ts'
import { batchEdits, type CellEdit, runSweep, type SweepCell } from './sweep.ts'
import type { SweepOptions } from './types.ts'

/** `L5H1`, or `L3.mlp`. */
export interface Sender {
  readonly name: string
  readonly layer: number
  readonly head: number | null
}

/** `L7H2.q`, `L7H2.k`, `L7H2.v`, `L7.mlp`, or `logits`. */
export interface Receiver {
  readonly name: string
  readonly layer: number
  readonly head: number | null
  readonly part: 'q' | 'k' | 'v' | 'mlp' | 'logits'
}

export interface PathCell {
  readonly from: string
  readonly to: string
  readonly value: number | null
  /** value - the clean run's. */
  readonly delta: number | null
  readonly why?: string
}

export interface PathOptions
  extends Pick<SweepOptions<PathCell>, 'signal' | 'onProgress' | 'onCells' | 'known'> {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly metric: Metric
  readonly mlps?: 'freeze' | 'recompute'
}

export interface PathPatched {
  readonly clean: number
  readonly corrupt: number
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
  const { mlps = 'recompute' } = options
  const warnings = checkPrompts([clean, corrupt], model.spec)
  alignPrompts(clean, corrupt)
  const metric = resolveMetric(options.metric, [clean], model.spec.dVocab, model.tokenizer)
  const senders = options.from.map((name) => parseSender(name, model))
  const receivers = options.to.map((name) => parseReceiver(name, model))
  const engine = model.engine()
  const base = await sweepBase(engine, clean, metric, options.signal)
  const other = await sweepBase(engine, corrupt, metric, options.signal)
  const written = writtenHooks(model)
  const [own, from] = [
    await captureHooks(engine, clean, written, options.signal),
    await captureHooks(engine, corrupt, written, options.signal),
  ]
  const results: PathCell[] = []
  const started = performance.now()
  for (const sender of senders) {
    const known = knownCells(sender, receivers, options.known ?? [])
    if (known) {
      results.push(...known)
      continue
    }
    const found = await throughSender(engine, model, base, metric, sender, receivers, {
      own,
      from,
      mlps,
      signal: options.signal,
    })
    const cells = found.map(({ receiver, value, why }): PathCell => {
      const finite = value === null ? { value: null, why: why! } : finiteOr(value)
      const delta = finite.value === null ? null : finite.value - base.value
      return { from: sender.name, to: receiver.name, ...finite, delta }
    })
    results.push(...cells)
    options.onCells?.(cells)
    const done = results.length
    const total = senders.length * receivers.length
    const seconds = (performance.now() - started) / 1000
    options.onProgress?.({ done, total, secondsLeft: (seconds / done) * (total - done) })
  }
  return { clean: base.value, corrupt: other.value, cells: results, mlps, warnings }
}

/** A sender's name. Throws `bad-edit` naming the form and the range. */
export function parseSender(name: string, model: Model): Sender {
  const match = /^L(\d+)(?:H(\d+)|\.mlp)$/.exec(name)
  if (!match)
    throw new HeadscopeError(
      'bad-edit',
      `"${name}" is not a sender; write a head as L5H1 or an MLP as L3.mlp.`,
    )
  const layer = Number(match[1])
  const head = match[2] === undefined ? null : Number(match[2])
  checkPlace(name, layer, head, model)
  return { name, layer, head }
}

/** A receiver's name. Throws `bad-edit` naming the form and the range. */
export function parseReceiver(name: string, model: Model): Receiver {
  if (name === 'logits')
    return { name, layer: decoderOf(model.spec).layers.length, head: null, part: 'logits' }
  const match = /^L(\d+)(?:H(\d+)\.([qkv])|\.mlp)$/.exec(name)
  if (!match)
    throw new HeadscopeError(
      'bad-edit',
      `"${name}" is not a receiver; write L7H2.q, L7H2.k, L7H2.v, L7.mlp or logits.`,
    )
  const layer = Number(match[1])
  const head = match[2] === undefined ? null : Number(match[2])
  checkPlace(name, layer, head, model)
  const part = (match[3] ?? 'mlp') as Receiver['part']
  if (part === 'mlp' && !model.hooks.some((hook) => hook.name === blockHook(layer, 'mlp.hook_pre')))
    throw new HeadscopeError(
      'bad-edit',
      `${name} is a mixture of experts, which has no single input to replace; choose heads or logits.`,
    )
  return { name, layer, head, part }
}

// --- Internal helpers ---

/** A sender's cells where all are known already (a resumed sweep), in the order of the receivers. */
function knownCells(
  sender: Sender,
  receivers: readonly Receiver[],
  known: readonly PathCell[],
): PathCell[] | null {
  const found = receivers.map((receiver) =>
    known.find((cell) => cell.from === sender.name && cell.to === receiver.name),
  )
  return found.every((cell) => cell !== undefined) ? found : null
}

function checkPlace(name: string, layer: number, head: number | null, model: Model): void {
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

/** What heads and MLPs write, in every layer. */
function writtenHooks(model: Model): Set<string> {
  return new Set(
    decoderOf(model.spec).layers.flatMap((_, layer) => [
      blockHook(layer, 'attn.hook_z'),
      blockHook(layer, 'hook_mlp_out'),
    ]),
  )
}

/** Hooks that hold a receiver's input, with the head (or kv head) of each. */
function inputsOf(receiver: Receiver, model: Model): { hook: HookInfo; head: number | null }[] {
  const spec = decoderOf(model.spec).layers[receiver.layer]!
  const byName = (local: string) => model.hooks.find((hook) => hook.name === blockHook(receiver.layer, local))
  const kvHead = receiver.head === null ? null : Math.floor(receiver.head / (spec.nHeads / spec.nKvHeads))
  switch (receiver.part) {
    case 'q':
      return [{ hook: byName('attn.hook_rot_q')!, head: receiver.head }]
    case 'k':
      return [{ hook: byName('attn.hook_rot_k')!, head: kvHead }]
    case 'v':
      return [{ hook: byName('attn.hook_v')!, head: kvHead }]
    default:
      return [byName('mlp.hook_pre'), byName('mlp.hook_pre_linear')]
        .filter((hook) => hook !== undefined)
        .map((hook) => ({ hook, head: null }))
  }
}

/** Whether a sender's output can reach a receiver: later layers, or the MLP behind a head of a serial block. */
function reaches(sender: Sender, receiver: Receiver, model: Model): boolean {
  if (receiver.layer > sender.layer) return true
  const serial = !decoderOf(model.spec).layers[sender.layer]!.parallel
  return serial && receiver.layer === sender.layer && sender.head !== null && receiver.part === 'mlp'
}

interface Context {
  readonly own: ReadonlyMap<string, Tensor>
  readonly from: ReadonlyMap<string, Tensor>
  readonly mlps: 'freeze' | 'recompute'
  readonly signal: AbortSignal | undefined
}

interface Found {
  readonly receiver: Receiver
  readonly value: number | null
  readonly why?: string
}

/** One pass with the sender changed and the rest held, then one run per receiver. */
async function throughSender(
  engine: Engine,
  model: Model,
  base: SweepBase,
  metric: ResolvedMetric,
  sender: Sender,
  receivers: readonly Receiver[],
  context: Context,
): Promise<Found[]> {
  const reached = receivers.filter((receiver) => reaches(sender, receiver, model))
  const inputs = new Map(
    reached.map((receiver) => [receiver.name, receiver.part === 'logits' ? [] : inputsOf(receiver, model)]),
  )
  const wanted = new Set([...inputs.values()].flat().map(({ hook }) => hook.name))
  const { state, recorded } = await heldPass(engine, base, sender, wanted, context)
  const cells = reached
    .filter((receiver) => receiver.part !== 'logits')
    .map((receiver): SweepCell<string> => {
      const edits = inputs.get(receiver.name)!.map(({ hook, head }): CellEdit => {
        const { data, shape } = recorded.get(hook.name)!
        return { hook, head, pos: null, value: { data, shape } }
      })
      return { key: receiver.name, layer: receiver.layer, pos: 0, edits }
    })
  const values = new Map<string, number>()
  await runSweep(
    engine,
    base,
    cells,
    metric,
    (results) => {
      for (const { key, value } of results) values.set(key, value)
    },
    context.signal,
  )
  if (reached.some((receiver) => receiver.part === 'logits')) {
    const first = metric.positions[0]!
    const rows = slice(state.get('resid')!, 1, first, metric.positions.at(-1)! + 1)
    const logits = (await logitsOf(engine, rows, first, [])).data
    values.set('logits', metricValue(metric, logits, base.rows))
  }
  return receivers.map((receiver) => {
    const value = values.get(receiver.name)
    if (value !== undefined) return { receiver, value }
    return { receiver, value: null, why: `${sender.name} comes after ${receiver.name}, so there is no path` }
  })
}

/** The clean run from the sender's layer on, with every head (and MLP) held at its clean output but the sender. */
async function heldPass(
  engine: Engine,
  base: SweepBase,
  sender: Sender,
  wanted: ReadonlySet<string>,
  { own, from, mlps, signal }: Context,
): Promise<{ state: State; recorded: Map<string, Tensor> }> {
  const recorded = new Map<string, Tensor>()
  const held = engine.hooks.filter(({ name, segment }) => {
    if (typeof segment !== 'number' || segment < sender.layer) return false
    return name.endsWith('attn.hook_z') || (mlps === 'freeze' && name.endsWith('hook_mlp_out'))
  })
  const edits = held.map((hook) => batchEdits([hold(hook, own, sender)], base.run.ids[0]!.length)[0]!)
  const local = sender.head === null ? 'hook_mlp_out' : 'attn.hook_z'
  const hook = engine.hooks.find((candidate) => candidate.name === blockHook(sender.layer, local))!
  const { data, shape } = from.get(hook.name)!
  const said: SweepCell<null> = {
    key: null,
    layer: sender.layer,
    pos: 0,
    edits: [{ hook, head: sender.head, pos: null, value: { data, shape } }],
  }
  const { state } = await runPass(engine, {
    ids: base.run.ids,
    lengths: base.run.lengths,
    start: 0,
    total: base.run.ids[0]!.length,
    from: { layer: sender.layer, state: base.run.borders[sender.layer]! },
    wanted,
    edits: [...edits, ...batchEdits([said], base.run.ids[0]!.length)],
    signal,
    onTensor: (info, tensor) => {
      recorded.set(info.name, tensor)
    },
  })
  return { state, recorded }
}

/** A cell that sets a hook to its clean value. */
function hold(hook: HookInfo, own: ReadonlyMap<string, Tensor>, sender: Sender): SweepCell<null> {
  const { data, shape } = own.get(hook.name)!
  const value: Dense = { data, shape }
  return { key: null, layer: sender.layer, pos: 0, edits: [{ hook, head: null, pos: null, value }] }
}
