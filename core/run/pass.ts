/**
 * One pass over a stack: from the embedding or a block border, over some query rows, to the last block. Prefill,
 * decode, restart and chunks are this one function. It keeps nothing: what is wanted goes to `onTensor` as soon as
 * its block has run. Where a decoder reads an encoder, the encoder runs first, unless what it hands over is given.
 */
import { HeadscopeError } from '../errors.ts'
import { MEMORY } from '../graph/cross-attention.ts'
import type { LayerSpec } from '../graph/model-spec.ts'
import { type EditSlot, slotInput } from '../graph/splice.ts'
import type { Tensor } from '../graph/tensor.ts'
import { createAssembly } from './assemble.ts'
import { crossPastOf } from './cross-past.ts'
import { type Window, windowed } from './dense.ts'
import type { ResolvedEdit } from './edits.ts'
import { type Engine, runSegment } from './engine.ts'
import { createDropCounter } from './large-arrays.ts'
import { createPassFeeds, type PassFeeds } from './pass-feeds.ts'
import type { KeyValues, Pass, PassResult, Source, State } from './pass-types.ts'
import { encoderStage, type HookInfo, lastStage, type Segment, type Stage, stateInput } from './segments.ts'
import { asFloats, type Feed, type FetchedTensor } from './session.ts'

export type * from './pass-types.ts'

/** Throws `cancelled` between blocks, and what onTensor throws. */
export async function runPass(engine: Engine, pass: Pass): Promise<PassResult> {
  const encoder = encoderStage(engine.model)
  if (!encoder) {
    const source = engine.reads ? readByAll(engine.reads, pass.ids.length) : null
    if (!source) return runStack(engine, lastStage(engine.model), pass)
    return { ...(await runStack(engine, lastStage(engine.model), { ...pass, source })), source }
  }
  if (!pass.source)
    throw new HeadscopeError(
      'bad-prompt',
      `Models of the family ${engine.model.spec.family} read a text with their encoder before the decoder's own; give both.`,
    )
  const { memory, borders: encoderBorders } = await runEncoder(engine, encoder, pass, pass.source)
  const source = { ...pass.source, memory }
  const before = pass.source.memory ? 0 : encoder.stack.layers.length
  const decoder = await runStack(engine, lastStage(engine.model), {
    ...pass,
    source,
    onBlock: (done) => pass.onBlock?.(before + done),
  })
  return { ...decoder, source, encoderBorders }
}

/** What the encoder hands over, and its borders. */
async function runEncoder(engine: Engine, encoder: Stage, pass: Pass, source: Source) {
  if (source.memory) return { memory: source.memory, borders: [] }
  const { state, borders } = await runStack(engine, encoder, {
    ids: source.ids,
    lengths: source.lengths,
    start: 0,
    total: source.ids[0]!.length,
    from: source.from,
    wanted: pass.wanted,
    edits: pass.edits,
    ...(pass.shift === undefined ? {} : { shift: pass.shift }),
    keepBorders: pass.keepBorders ?? false,
    signal: pass.signal,
    onTensor: pass.onTensor,
    saving: pass.saving,
    onBlock: pass.onBlock,
  })
  const rows = source.ids[0]!.length
  const { hooks, slots, inputs } = wantedOf(engine, pass, 'encoder.memory', { start: 0, rows, keys: rows })
  const outputs = [MEMORY, ...hooks.map((hook) => hook.name)]
  const given = new Map<string, Feed>([...inputs, [stateInput('resid'), state.get('resid')!]])
  const result = await runSegment(engine, 'encoder.memory', outputs, slots, given)
  for (const hook of hooks)
    await pass.onTensor?.(hook, { ...asFloats(result.get(hook.name)!), axes: hook.axes })
  return { memory: asFloats(result.get(MEMORY)!), borders }
}

/** One stack from its embedding or a border to its last block. */
async function runStack(engine: Engine, stage: Stage, pass: Pass): Promise<PassResult> {
  const { layers } = stage.stack
  const feeds = createPassFeeds(engine, pass, stage)
  const drops = createDropCounter()
  let state = pass.from?.state ?? (await embedState(engine, stage, pass, feeds))
  const keyValues: (KeyValues | undefined)[] = []
  const borders: (State | undefined)[] = []
  const end = pass.to ?? layers.length
  for (let layer = pass.from?.layer ?? 0; layer < end; layer++) {
    throwIfCancelled(pass.signal)
    if (pass.keepBorders) borders[layer] = state
    const done = await runBlock(engine, stage, pass, feeds, drops, layer, state)
    state = done.state
    if (pass.keepKeyValues) keyValues[layer] = done.keyValues
    // Taken out one by one, so that nothing here holds them when the next block runs.
    for (let next = done.captured.shift(); next; next = done.captured.shift()) await pass.onTensor?.(...next)
    drops.dropped(done.bytes)
    pass.onBlock?.(layer + 1)
  }
  throwIfCancelled(pass.signal)
  if (pass.keepBorders) borders[end] = state
  return { state, keyValues, borders }
}

/** Throws `cancelled` when the signal has fired. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new HeadscopeError('cancelled', 'The run was cancelled; nothing of it was kept.')
}

// --- Internal helpers ---

async function embedState(engine: Engine, stage: Stage, pass: Pass, feeds: PassFeeds): Promise<State> {
  throwIfCancelled(pass.signal)
  const rows = pass.ids[0]!.length
  const { hooks, slots, inputs } = wantedOf(engine, pass, stage.embed, {
    start: pass.start,
    rows,
    keys: pass.start + rows,
  })
  const parts = Object.keys(stage.model.state)
  const outputs = [...parts, ...hooks.map((hook) => hook.name)]
  const given = new Map([...feeds.tokens(), ...inputs])
  const result = await runSegment(engine, stage.embed, outputs, slots, given)
  for (const hook of hooks) {
    const { data, shape } = asFloats(result.get(hook.name)!)
    await pass.onTensor?.(hook, { data, shape, axes: hook.axes })
  }
  return new Map(parts.map((part) => [part, asFloats(result.get(part)!)]))
}

interface BlockResult {
  readonly state: State
  readonly keyValues: KeyValues | undefined
  /** Of arrays that go out of use once the captures are taken. */
  readonly bytes: number
  readonly captured: [HookInfo, Tensor][]
}

/** A block over all rows of the pass, in chunks of rows where the scores would exceed the budget. */
async function runBlock(
  engine: Engine,
  stage: Stage,
  pass: Pass,
  feeds: PassFeeds,
  drops: ReturnType<typeof createDropCounter>,
  index: number,
  state: State,
): Promise<BlockResult> {
  const { layers, causal } = stage.stack
  const layer = layers[index]!
  const segment = stage.block(index)
  const batch = pass.ids.length
  const rows = pass.ids[0]!.length
  const keys = pass.start + rows
  const perRow = batch * layer.nHeads * keys * 4
  // A query that looks ahead needs every key, so a bidirectional block is one chunk.
  const saving = pass.saving?.variant(segment) ?? null
  const chunk =
    causal && !pass.saving ? Math.max(1, Math.min(rows, Math.floor(engine.scoreBudget / perRow))) : rows
  const whole = { start: 0, rows, keys }
  const parts = Object.entries(stage.model.state).map(
    ([part, axes]) => [part, createAssembly(axes, whole, 0)] as const,
  )
  const captures = engine.hooks
    .filter((hook) => hook.segment === segment && pass.wanted.has(hook.name) && !streamed(pass, hook))
    .map((hook) => {
      const empty = hook.name.endsWith('hook_attn_scores') ? Number.NEGATIVE_INFINITY : 0
      return [hook, createAssembly(hook.cut, whole, empty)] as const
    })
  let kept = captures.length > 0 ? 4 * batch * layer.nHeads * rows * keys : 0
  let past = pastOf(pass, layer, index)
  const needsKeyValues = pass.keepKeyValues || chunk < rows
  for (let first = 0; first < rows; first += chunk) {
    if (first > 0) throwIfCancelled(pass.signal)
    const size = Math.min(chunk, rows - first)
    const window = { start: pass.start + first, rows: size, keys: pass.start + first + size }
    const { hooks, slots, inputs } = wantedOf(engine, pass, segment, window)
    const given = new Map<string, Feed>([...inputs, ...feeds.block(layer, window)])
    given.set('past_k', past.k).set('past_v', past.v)
    const local = { start: first, rows: size, keys: size }
    for (const [part, value] of state)
      given.set(stateInput(part), windowed(value, stage.model.state[part]!, local))
    if (pass.source?.memory) given.set(stateInput(MEMORY), pass.source.memory)
    const cross = crossPastOf(pass, stage, past, [
      ...hooks.map(({ name }) => name),
      ...slots.map(({ hook }) => hook),
    ])
    for (const [input, value] of cross.feeds) given.set(input, value)
    const names = [
      ...parts.map(([part]) => part),
      ...(needsKeyValues ? ['k', 'v', ...cross.outputs] : []),
      ...hooks.map((hook) => hook.name),
    ]
    const outputs = await runSegment(
      engine,
      segment,
      [...names, ...(saving?.outputs ?? [])],
      slots,
      given,
      saving ?? cross.variant,
    )
    if (saving) pass.saving!.take(segment, outputs)
    const bytes = bytesOf(outputs)
    for (const hook of hooks.filter((wanted) => streamed(pass, wanted))) {
      await pass.onRows!(hook, { ...asFloats(outputs.get(hook.name)!), axes: hook.axes }, window)
      outputs.delete(hook.name)
    }
    if (needsKeyValues)
      past = { k: asFloats(outputs.get('k')!), v: asFloats(outputs.get('v')!), cross: cross.taken(outputs) }
    if (chunk < rows) drops.dropped(bytes)
    else kept = bytes
    const place = { ...window, start: first }
    for (const [part, assembly] of parts) assembly.add(place, asFloats(outputs.get(part)!))
    for (const [hook, assembly] of captures) assembly.add(place, asFloats(outputs.get(hook.name)!))
  }
  return {
    state: new Map(parts.map(([part, assembly]) => [part, assembly.finish()])),
    bytes: kept,
    keyValues: pass.keepKeyValues ? past : undefined,
    captured: captures.map(([hook, assembly]) => [hook, { ...assembly.finish(), axes: hook.axes }]),
  }
}

function bytesOf(outputs: ReadonlyMap<string, FetchedTensor>): number {
  return [...outputs.values()].reduce((sum, { data }) => sum + data.byteLength, 0)
}

/** One text and what the encoder made of it, for every item of a batch. */
function readByAll(reads: NonNullable<Engine['reads']>, batch: number): NonNullable<Engine['reads']> {
  if (batch === reads.ids.length) return reads
  const { data, shape } = reads.memory
  const memory = new Float32Array(data.length * batch)
  for (let item = 0; item < batch; item++) memory.set(data, item * data.length)
  return {
    ...reads,
    ids: Array.from({ length: batch }, () => reads.ids[0]!),
    lengths: new Array<number>(batch).fill(reads.lengths[0]!),
    memory: { data: memory, shape: [batch, ...shape.slice(1)] },
  }
}

/** Whether a capture goes out chunk by chunk: scores and patterns, where somebody takes their rows. */
function streamed(pass: Pass, hook: HookInfo): boolean {
  return pass.onRows !== undefined && hook.axes.includes('query')
}

/** Rows 0 … start - 1 of a layer's keys and values, none at the start; and those of the source. */
function pastOf(pass: Pass, layer: LayerSpec, index: number): KeyValues {
  const past = pass.past?.[index]
  if (pass.start === 0 || !past) {
    const shape = [pass.ids.length, layer.nKvHeads, 0, layer.dHead]
    const none = { data: new Float32Array(0), shape }
    return { k: none, v: none, cross: past?.cross }
  }
  const axes = ['batch', 'kv_head', 'key', 'd_head'] as const
  const window = { start: 0, rows: 0, keys: pass.start }
  return { k: windowed(past.k, axes, window), v: windowed(past.v, axes, window), cross: past.cross }
}

/** Hooks to fetch, edit slots and their inputs for one segment and window. */
function wantedOf(engine: Engine, pass: Pass, segment: Segment, window: Window) {
  const hooks = engine.hooks.filter((hook) => hook.segment === segment && pass.wanted.has(hook.name))
  return { hooks, ...editInputs(pass.edits, segment, window) }
}

/** Slots and inputs of the edits that act in a segment. */
export function editInputs(edits: readonly ResolvedEdit[], segment: Segment, window: Window) {
  const slots: EditSlot[] = []
  const inputs = new Map<string, Feed>()
  for (const edit of edits) {
    if (edit.hook.segment !== segment) continue
    const slot = slots.push({ hook: edit.hook.name, kind: edit.kind }) - 1
    inputs.set(slotInput(slot, 'value'), windowed(edit.value, edit.hook.cut, window))
    if (edit.mask) inputs.set(slotInput(slot, 'mask'), windowed(edit.mask, edit.hook.cut, window))
  }
  return { slots, inputs }
}
