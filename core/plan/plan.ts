/**
 * The plan of long work: models × tasks × prompts, as JSON. In: a file or an object. Out: a Plan with every default
 * written out, or one sentence that names the field. Nothing is computed and no model is opened.
 */
import { basename, dirname, resolve } from 'node:path'
import { z } from 'zod'
import { scoresNamed } from '../analysis/scores/index.ts'
import { readText } from '../checkpoint/files.ts'
import { parseJson } from '../checkpoint/json.ts'
import { HeadscopeError, sentence } from '../errors.ts'
import type { AblateKind, AblateOver } from '../intervene/ablate.ts'
import type { AttributionSite } from '../intervene/attribute-estimates.ts'
import type { PatchBy } from '../intervene/patch.ts'
import { PATCH_SITE_NAMES, type PatchSite } from '../intervene/patch-sites.ts'
import type { Metric } from '../run/metrics.ts'

/** A text or token ids. */
export interface PlanText {
  readonly text?: string
  readonly ids?: readonly number[]
  readonly bos?: 'auto' | 'yes' | 'no'
  /** The decoder's own text, or ids with its start token, where the model reads this one with an encoder. */
  readonly decoder?: { readonly text?: string; readonly ids?: readonly number[] }
}

/** A prompt of sweeps. `corrupt`: its counterpart for patching. `metric` goes before the task's. */
export interface PlanPrompt extends PlanText {
  readonly corrupt?: PlanText
  readonly metric?: Metric
}

/** Scores of every head, on sequences that the scan draws. */
export interface ScanTask {
  readonly task: 'scan'
  readonly scores?: readonly string[]
  readonly length: number
  readonly batch: number
  readonly seed: number
  readonly bos?: boolean
}
export interface AblateTask {
  readonly task: 'ablate'
  readonly over: AblateOver
  readonly kind: AblateKind
  readonly metric: Metric
  readonly reference?: readonly PlanText[]
  readonly mean_over?: 'all' | 'pos'
}
export interface PatchTask {
  readonly task: 'patch'
  readonly site: PatchSite
  readonly by?: PatchBy
  readonly direction: 'denoise' | 'noise'
  readonly metric?: Metric
}
/** Path patching: every sender with every receiver. */
export interface PathTask {
  readonly task: 'path'
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly mlps?: 'freeze' | 'recompute'
  readonly metric?: Metric
}
/** Attribution patching, with exact runs of the `verify` largest estimates. */
export interface AttributeTask {
  readonly task: 'attribute'
  readonly sites?: readonly AttributionSite[]
  readonly verify?: number
  readonly grad_drop?: boolean
  readonly metric?: Metric
}
export type PlanTask = ScanTask | AblateTask | PatchTask | PathTask | AttributeTask

export interface Plan {
  /** As written: bundled names, paths, or series with an optional step. */
  readonly models: readonly { readonly model: string; readonly at?: string }[]
  readonly prompts: readonly PlanPrompt[]
  /** Repeated random tokens as further prompts, drawn from each model's own vocabulary. */
  readonly random: {
    readonly count: number
    readonly length: number
    readonly seed: number
    readonly bos: boolean
  } | null
  readonly tasks: readonly PlanTask[]
  /** Threads of each computation: part of the plan, so that every share computes alike. */
  readonly threads: number
  /** Floating-point operations above which one sweep is split by layers into several cells. */
  readonly largest_cell: number
}

const whole = (least: number, most: number) => z.int().min(least).max(most)
const text = {
  text: z.string().min(1).max(4_000_000).optional(),
  ids: z
    .array(whole(0, 2 ** 31))
    .min(1)
    .max(1_000_000)
    .optional(),
  bos: z.enum(['auto', 'yes', 'no']).optional(),
}
const decoder = z
  .strictObject({ text: text.text, ids: text.ids })
  .refine((given) => one(given), 'give either "text" or "ids"')
  .optional()
const one = (given: { text?: unknown; ids?: unknown }) =>
  (given.text === undefined) !== (given.ids === undefined)
const EITHER = 'give either "text" or "ids"'
const planText = z.strictObject({ ...text, decoder }).refine(one, EITHER)
const metric = z.strictObject({
  kind: z.enum(['logit_diff', 'logit', 'logprob', 'prob', 'loss', 'kl']),
  pos: z.int().optional(),
  answer: z.union([z.int(), z.string()]).optional(),
  wrong: z.union([z.int(), z.string()]).optional(),
})
const prompt = z
  .strictObject({ ...text, decoder, corrupt: planText.optional(), metric: metric.optional() })
  .refine(one, EITHER)

const task = z.discriminatedUnion('task', [
  z.strictObject({
    task: z.literal('scan'),
    scores: z.array(z.string()).min(1).optional(),
    length: whole(2, 100_000).default(48),
    batch: whole(1, 10_000).default(32),
    seed: whole(0, 0xffffffff).default(1),
    bos: z.boolean().optional(),
  }),
  z.strictObject({
    task: z.literal('ablate'),
    over: z.enum(['heads', 'cross_heads', 'mlps', 'layers', 'positions']).default('heads'),
    kind: z.enum(['zero', 'mean', 'resample']).default('zero'),
    metric: metric.default({ kind: 'loss' }),
    reference: z.array(planText).min(1).optional(),
    mean_over: z.enum(['all', 'pos']).optional(),
  }),
  z.strictObject({
    task: z.literal('patch'),
    site: z.enum(PATCH_SITE_NAMES as [PatchSite, ...PatchSite[]]).default('resid_pre'),
    by: z.enum(['layer,pos', 'layer,head']).optional(),
    direction: z.enum(['denoise', 'noise']).default('denoise'),
    metric: metric.optional(),
  }),
  z.strictObject({
    task: z.literal('path'),
    from: z.array(z.string().min(1).max(100)).min(1),
    to: z.array(z.string().min(1).max(100)).min(1),
    mlps: z.enum(['freeze', 'recompute']).optional(),
    metric: metric.optional(),
  }),
  z.strictObject({
    task: z.literal('attribute'),
    sites: z
      .array(z.enum(['z', 'mlp_out', 'q', 'k', 'v'] satisfies AttributionSite[]))
      .min(1)
      .optional(),
    verify: whole(0, 100_000).optional(),
    grad_drop: z.boolean().optional(),
    metric: metric.optional(),
  }),
])

const model = z.union([
  z.string().min(1).max(4096),
  z.strictObject({ model: z.string().min(1).max(4096), at: z.string().min(1).optional() }),
])

const schema = z.strictObject({
  models: z.array(model).min(1),
  prompts: z.array(prompt).default([]),
  random: z
    .strictObject({
      count: whole(1, 10_000).default(8),
      length: whole(2, 100_000).default(48),
      seed: whole(0, 0xffffffff).default(1),
      bos: z.boolean().default(false),
    })
    .optional(),
  tasks: z.array(task).min(1),
  threads: whole(1, 1024).default(1),
  largest_cell: z.number().positive().default(1e14),
})

/** Reads a plan file. `prompts` may name a `.txt` or `.jsonl` file beside it. Throws `bad-request` or `not-found`. */
export function readPlan(file: string): Plan {
  const name = basename(file)
  let value: unknown
  try {
    value = parseJson(readText(file, name))
  } catch (error) {
    if (error instanceof HeadscopeError && error.code === 'not-found')
      throw new HeadscopeError('not-found', `${file} does not exist; name a plan, a JSON file.`, {
        cause: error,
      })
    throw new HeadscopeError(
      'bad-request',
      `${name} cannot be read as a plan: ${sentence(error).replace(/\.$/, '')}.`,
      { cause: error },
    )
  }
  const { prompts, ...rest } = (value ?? {}) as { prompts?: unknown }
  const given = typeof prompts === 'string' ? promptsIn(resolve(dirname(file), prompts)) : prompts
  return parsePlan(given === undefined ? value : { ...rest, prompts: given }, name)
}

/** Checks a plan and writes its defaults out. `name` stands in messages. Throws `bad-request`. */
export function parsePlan(value: unknown, name = 'the plan'): Plan {
  const result = schema.safeParse(value)
  if (!result.success) {
    throw new HeadscopeError('bad-request', `${name}: ${problem(result.error.issues)}.`)
  }
  const { models, random = null, ...rest } = result.data
  // JSON knows no undefined, so an optional field of the schema is an absent one: that is what the cast says.
  const plan = {
    ...rest,
    random,
    models: models.map((given) => (typeof given === 'string' ? { model: given } : given)),
  } as Plan
  const prompts = plan.prompts.length + (random?.count ?? 0)
  for (const { task: kind, ...settings } of plan.tasks) {
    if (kind === 'scan') checkScores(settings as ScanTask, name)
    if (kind === 'ablate') checkRead(settings as AblateTask, name)
    if (kind !== 'scan' && prompts === 0)
      throw new HeadscopeError('bad-request', `${name}: a task ${kind} needs "prompts" or "random".`)
    if (kind === 'patch' || kind === 'path' || kind === 'attribute')
      checkPair(plan, kind, (settings as { metric?: Metric }).metric, name)
    if (kind === 'ablate' && (settings as AblateTask).kind !== 'zero' && !(settings as AblateTask).reference)
      throw new HeadscopeError(
        'bad-request',
        `${name}: a ${(settings as AblateTask).kind} ablation needs "reference", a list of prompts.`,
      )
  }
  return plan
}

// --- Internal helpers ---

/** A score that no model has is a slip, not a cell that fails. */
function checkScores({ scores }: ScanTask, name: string): void {
  try {
    if (scores) scoresNamed(scores)
  } catch (error) {
    throw new HeadscopeError('bad-request', `${name}: ${sentence(error)}`, { cause: error })
  }
}

/** Refuses fields that the kind of ablation would not read. */
function checkRead({ kind, reference, mean_over }: AblateTask, name: string): void {
  if (kind === 'zero' && reference)
    throw new HeadscopeError('bad-request', `${name}: a zero ablation reads no "reference"; leave it out.`)
  if (kind !== 'mean' && mean_over)
    throw new HeadscopeError('bad-request', `${name}: a ${kind} ablation reads no "mean_over"; leave it out.`)
}

/** One sentence: a field that nobody knows first, as it explains one that is missing. */
function problem(issues: readonly z.core.$ZodIssue[]): string {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  const place = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return `${place === '' ? 'a plan' : `"${place}"`} has no field ${issue.keys.map((key) => `"${key}"`).join(', ')}`
  if (place === '') return 'a plan is an object with "models" and "tasks"'
  if (issue.code === 'invalid_type') {
    const missing = /received undefined$/.test(issue.message) ? 'is missing; it ' : ''
    const kind = { array: 'a list', object: 'an object', int: 'a whole number' }[issue.expected as string]
    return `"${place}" ${missing}must be ${kind ?? `a ${issue.expected}`}`
  }
  if (place.endsWith('.task')) return `"${place}" must be scan, ablate, patch, path or attribute`
  return `"${place}" does not fit: ${plain(issue.message)}`
}

function checkPair(plan: Plan, kind: string, own: Metric | undefined, name: string): void {
  const rule = `a task ${kind} needs prompts with "corrupt" (of the same length) and a "metric"`
  if (plan.random) throw new HeadscopeError('bad-request', `${name}: ${rule}, which random tokens have not.`)
  plan.prompts.forEach((given, i) => {
    if (!given.corrupt || !(given.metric ?? own))
      throw new HeadscopeError(
        'bad-request',
        `${name}: prompt ${i} has no "${given.corrupt ? 'metric' : 'corrupt'}"; ${rule}.`,
      )
  })
}

function promptsIn(file: string): unknown[] {
  const name = basename(file)
  const lines = readText(file, name)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  if (!/\.jsonl$/i.test(file)) return lines.map((line) => ({ text: line }))
  return lines.map((line, i) => {
    try {
      return parseJson(line)
    } catch (error) {
      throw new HeadscopeError('bad-request', `${name}, line ${i + 1} is not JSON: ${sentence(error)}.`)
    }
  })
}

function plain(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1).replace(/\.$/, '')
}
