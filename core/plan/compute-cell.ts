/**
 * One cell computed. In: an open model, the plan, the cell. Out: plain data, the same every time on one kind of
 * machine: no times, no process. A cell that its model or prompt cannot have is an answer too (`failed`), so that one
 * such cell does not stop a plan of thousands.
 */
import { scanHeads } from '../analysis/scan.ts'
import { randomRepeats } from '../analysis/sequences.ts'
import type { ScanResult } from '../analysis/types.ts'
import type { Progress, TokenView } from '../checkpoint/types.ts'
import { type ErrorCode, HeadscopeError } from '../errors.ts'
import { type Ablated, ablate } from '../intervene/ablate.ts'
import { type Attributed, attribute } from '../intervene/attribute.ts'
import { type Patched, patch } from '../intervene/patch.ts'
import { type PathPatched, pathPatch } from '../intervene/path.ts'
import { decoderPrompt } from '../run/decoder-prompt.ts'
import type { Metric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'
import { asOneText } from '../run/one-text.ts'
import type { CheckpointInput } from '../store/types.ts'
import type { PlanCell } from './cells.ts'
import type { Plan, PlanPrompt, PlanText } from './plan.ts'

/** What is kept of a cell. `task`, `prompt`: places in the plan; `parts`: cells that the sweep is split into. */
export type CellValue = {
  readonly model: { readonly name: string; readonly at: string | null }
  readonly checkpoint: CheckpointInput
  readonly task: number
  readonly prompt: number | null
  readonly parts: number
} & (
  | { readonly kind: 'scan'; readonly result: ScanResult }
  | { readonly kind: 'ablate'; readonly prompts: PromptViews; readonly result: Ablated }
  | { readonly kind: 'patch'; readonly prompts: PromptViews; readonly result: Patched }
  | { readonly kind: 'path'; readonly prompts: PromptViews; readonly result: PathPatched }
  | { readonly kind: 'attribute'; readonly prompts: PromptViews; readonly result: Attributed }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly why: string }
)

/** Tokens of the prompt, the decoder's own where it reads a text; of two prompts: clean, then corrupt. */
export type PromptViews = readonly (readonly TokenView[])[]

export interface ComputeOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: Progress) => void
  /** A summary of the model that is kept with its checkpoint. */
  readonly summary?: (model: Model) => unknown
}

/** Errors that say something about the cell: running it again would end the same way. */
const FACTS: readonly ErrorCode[] = ['bad-prompt', 'bad-edit', 'bad-request', 'unsupported']

/** Computes a cell. Throws `cancelled`, and whatever is not the cell's own fault. */
export async function computeCell(
  model: Model,
  plan: Plan,
  cell: PlanCell,
  options: ComputeOptions = {},
): Promise<CellValue> {
  const { hash } = await model.contentHash()
  const base = {
    model: { name: cell.model.name, at: cell.model.at },
    task: cell.task,
    prompt: cell.prompt,
    parts: cell.parts,
    checkpoint: {
      contentHash: hash,
      path: model.path,
      name: model.name,
      family: model.spec.family,
      ...(options.summary ? { spec: options.summary(model) } : {}),
    },
  }
  try {
    return { ...base, ...(await answer(model, plan, cell, options)) }
  } catch (error) {
    if (!(error instanceof HeadscopeError) || !FACTS.includes(error.code)) throw error
    return { ...base, kind: 'failed', code: error.code, why: error.message }
  }
}

// --- Internal helpers ---

async function answer(model: Model, plan: Plan, cell: PlanCell, options: ComputeOptions) {
  const task = plan.tasks[cell.task]!
  const { signal, onProgress } = options
  const watched = { ...(signal ? { signal } : {}), ...(onProgress ? { onProgress } : {}) }
  if (task.task === 'scan') {
    const { task: kind, scores, bos, ...settings } = task
    const asked = { ...(scores ? { scores } : {}), ...(bos === undefined ? {} : { bos }) }
    return { kind, result: await scanHeads(model, { ...settings, ...asked, ...watched }) } as const
  }
  const prompt = plan.prompts[cell.prompt!] ?? null
  if (!prompt && model.spec.encoderDecoder)
    throw new HeadscopeError(
      'bad-request',
      `Random tokens are prompts of one text, and ${model.name} reads two; write "prompts" with a "decoder".`,
    )
  const given = prompt ? [prompt, ...(prompt.corrupt && task.task !== 'ablate' ? [prompt.corrupt] : [])] : []
  const references = task.task === 'ablate' ? (task.reference ?? []) : []
  const texts = await asOneText(
    model,
    prompt
      ? [...given, ...references].map((text) => textsOf(model, text))
      : [{ ids: randomPrompt(model, plan, cell.prompt!) }, ...references.map((text) => textsOf(model, text))],
  )
  const stack = texts.model
  const [ids, second] = texts.ids as [readonly number[], readonly number[]]
  const metric = metricOf(prompt, task.metric)
  const layers = cell.layers ? { layers: cell.layers } : {}
  if (task.task === 'ablate') {
    const result = await ablate(stack, ids, {
      over: task.over,
      kind: task.kind,
      metric,
      ...(task.reference ? { reference: texts.ids.slice(-references.length) } : {}),
      ...(task.mean_over ? { meanOver: task.mean_over } : {}),
      ...layers,
      ...watched,
    })
    return { kind: 'ablate', prompts: [viewOf(model, ids)], result } as const
  }
  const prompts = [ids, second].map((one) => viewOf(model, one))
  if (task.task === 'path') {
    const { from, to, mlps } = task
    const asked = { from, to, metric, ...(mlps ? { mlps } : {}), ...watched }
    return { kind: 'path', prompts, result: await pathPatch(stack, ids, second, asked) } as const
  }
  if (task.task === 'attribute') {
    const { sites, verify, grad_drop: gradDrop } = task
    const asked = {
      metric,
      ...(sites ? { sites } : {}),
      ...(verify ? { verify } : {}),
      ...(gradDrop ? { gradDrop } : {}),
      ...watched,
    }
    return { kind: 'attribute', prompts, result: await attribute(stack, ids, second, asked) } as const
  }
  const result = await patch(stack, ids, second, {
    site: task.site,
    ...(task.by ? { by: task.by } : {}),
    direction: task.direction,
    metric,
    ...layers,
    ...watched,
  })
  return { kind: 'patch', prompts, result } as const
}

/** A prompt as the model reads it: the decoder's part beside it, where one is given. */
function textsOf(model: Model, text: PlanText) {
  const { decoder } = text
  const ids = idsOf(model, text)
  return decoder ? { ids, decoder: decoder.ids ?? decoderPrompt(model, decoder.text!) } : { ids }
}

function metricOf(prompt: PlanPrompt | null, metric: Metric | undefined): Metric {
  return prompt?.metric ?? metric!
}

function idsOf(model: Model, { text, ids, bos }: PlanText): readonly number[] {
  return ids ?? model.encode(text!, bos ? { bos } : {})
}

/** Token views; without a tokenizer a token is its number. */
function viewOf({ tokenizer }: Model, ids: readonly number[]): readonly TokenView[] {
  return tokenizer?.view(ids) ?? ids.map((id) => ({ id, text: String(id), special: false, group: null }))
}

function randomPrompt(model: Model, { prompts, random }: Plan, index: number): readonly number[] {
  const { count, length, seed, bos } = random!
  return randomRepeats(model, { length, batch: count, seed, bos }).ids[index - prompts.length]!
}
