/**
 * A plan → the exact list of its cells, and who computes which. A cell is one model × task × prompt, or some layers of
 * it where one sweep is long. In: a plan and its models found on disk. Out: cells in a fixed order with estimated
 * costs, a hash of the whole, and the share of one shard. Cost: config.json of each model is read.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../checkpoint/config.ts'
import { openCheckpoint } from '../checkpoint/open.ts'
import { readFamily } from '../families/index.ts'
import { decoderOf } from '../graph/model-spec.ts'
import { hasHeads } from '../intervene/patch-sites.ts'
import { countParameters } from '../run/parameters.ts'
import type { AttributeTask, PatchTask, PathTask, Plan, PlanPrompt, PlanText, ScanTask } from './plan.ts'

/** A model of the plan, found: series are taken apart into their members. */
export interface PlanModel {
  /** As written in the plan. */
  readonly name: string
  /** Its step in a series, or null. */
  readonly at: string | null
  readonly path: string
}

export interface PlanCell {
  readonly index: number
  /** What a person calls it: `induction-2l step512, ablate heads zero, prompt 3`. */
  readonly key: string
  readonly model: PlanModel
  /** Place of the task in the plan. */
  readonly task: number
  /** Place of the prompt: the written ones, then the random ones; null for a scan. */
  readonly prompt: number | null
  /** Layers whose places are swept, where the sweep is split; null: all. */
  readonly layers: readonly number[] | null
  /** How many cells the sweep is split into. */
  readonly parts: number
  /** Estimated floating-point operations. */
  readonly cost: number
}

export interface CellList {
  readonly cells: readonly PlanCell[]
  /** The same for every shard of one plan: over everything that decides a result, but not where files lie. */
  readonly hash: string
}

/** Format of plans and cells: a change of either changes every hash. */
const FORMAT = 1

/** All cells of a plan: models outermost, then tasks, then prompts. The same on every machine. */
export function listCells(plan: Plan, models: readonly PlanModel[]): CellList {
  const cells: PlanCell[] = []
  const add = (cell: Omit<PlanCell, 'index'>) => cells.push({ ...cell, index: cells.length })
  for (const model of models) {
    const size = sizeOfModel(model.path)
    plan.tasks.forEach((task, t) => {
      const title = `${nameOf(model)}, ${titleOf(plan, t)}`
      if (task.task === 'scan') {
        add({ key: title, model, task: t, prompt: null, layers: null, parts: 1, cost: scanCost(task, size) })
        return
      }
      const headed =
        task.task === 'ablate' ? /heads$/.test(task.over) : task.task === 'patch' && isByHead(task)
      const byPos = task.task === 'ablate' ? task.over === 'positions' : !headed
      for (let p = 0; p < promptCount(plan); p++) {
        const tokens = tokensOf(plan, p)
        if (task.task === 'path' || task.task === 'attribute') {
          const cost = 2 * size.parameters * tokens * passesOf(task)
          add({ key: `${title}, prompt ${p}`, model, task: t, prompt: p, layers: null, parts: 1, cost })
          continue
        }
        const costs = size.heads.map((heads, layer) => {
          // A place of a layer restarts there: the blocks from it on, and on average half of the positions.
          const blocks = (size.heads.length - layer) / size.heads.length
          const places = byPos ? tokens / 2 : headed ? heads : 1
          return 2 * size.parameters * blocks * places * tokens
        })
        const groups = groupLayers(costs, plan.largest_cell)
        for (const layers of groups) {
          const part = groups.length > 1 ? `, layers ${layers[0]}–${layers.at(-1)}` : ''
          add({
            key: `${title}, prompt ${p}${part}`,
            model,
            task: t,
            prompt: p,
            layers: groups.length > 1 ? layers : null,
            parts: groups.length,
            cost: 2 * size.parameters * tokens + sum(layers.map((layer) => costs[layer]!)),
          })
        }
      }
    })
  }
  return { cells, hash: hashOf(plan, cells) }
}

/**
 * The cells of shard `k` of `n`, counted from 1, in the order of the list: the dearest cells are dealt out first, each
 * to the shard with the least to do. Every cell is in exactly one shard.
 */
export function shareOf(cells: readonly PlanCell[], k: number, n: number): PlanCell[] {
  const loads = new Array<number>(n).fill(0)
  const mine: PlanCell[] = []
  for (const cell of [...cells].sort((a, b) => b.cost - a.cost || a.index - b.index)) {
    let least = 0
    for (let i = 1; i < n; i++) if (loads[i]! < loads[least]!) least = i
    loads[least]! += Math.max(cell.cost, 1)
    if (least === k - 1) mine.push(cell)
  }
  return mine.sort((a, b) => a.index - b.index)
}

/** `induction-2l step512`. */
export function nameOf({ name, at }: Pick<PlanModel, 'name' | 'at'>): string {
  return at === null ? name : `${name} ${at}`
}

// --- Internal helpers ---

interface ModelSize {
  /** Query heads of each layer. */
  readonly heads: readonly number[]
  readonly parameters: number
}

function sizeOfModel(path: string): ModelSize {
  const alone = existsSync(join(path, 'config.json')) // not so a GGUF or another weights file
  const family = readFamily(alone ? readConfig(path) : openCheckpoint(path).config)
  return {
    heads: decoderOf(family.spec).layers.map(({ nHeads }) => nHeads),
    parameters: countParameters(family, !family.head.tie).total,
  }
}

function scanCost({ batch, length }: ScanTask, { parameters }: ModelSize): number {
  return 2 * parameters * batch * 2 * length
}

function isByHead({ site, by }: PatchTask): boolean {
  return (by ?? (hasHeads(site) ? 'layer,head' : 'layer,pos')) === 'layer,head'
}

/** About how many forwards: two base runs and one or two an edge, or a few passes and one a place that is verified. */
function passesOf(task: PathTask | AttributeTask): number {
  if (task.task === 'path') return 2 + 2 * task.from.length * task.to.length
  return 8 + (task.verify ?? 0)
}

function promptCount({ prompts, random }: Plan): number {
  return prompts.length + (random?.count ?? 0)
}

/** About how long a prompt is: no tokenizer is opened for an estimate. */
function tokensOf({ prompts, random }: Plan, index: number): number {
  const prompt = prompts[index]
  if (!prompt) return 2 * random!.length
  const length = ({ ids, text }: PlanText) => ids?.length ?? Math.ceil(Buffer.byteLength(text ?? '') / 4) + 1
  return length(prompt) + (prompt.decoder ? length(prompt.decoder) : 0)
}

/** Neighbouring layers together, as many as stay below `largest`; at least one in each group. */
function groupLayers(costs: readonly number[], largest: number): number[][] {
  const groups: number[][] = []
  let room = 0
  costs.forEach((cost, layer) => {
    if (groups.length === 0 || cost > room) {
      groups.push([])
      room = largest
    }
    groups.at(-1)!.push(layer)
    room -= cost
  })
  return groups
}

function titleOf(plan: Plan, t: number): string {
  const task = plan.tasks[t]!
  const words =
    task.task === 'scan'
      ? 'scan'
      : task.task === 'ablate'
        ? `ablate ${task.over} ${task.kind}`
        : task.task === 'patch'
          ? `patch ${task.site} ${task.direction}`
          : task.task === 'path'
            ? `path ${listed(task.from)} to ${listed(task.to)}`
            : `attribute ${listed(task.sites ?? ['z', 'mlp_out'])}`
  const alike = plan.tasks.filter((other) => other.task === task.task).length
  return alike > 1 ? `${words} (task ${t})` : words
}

function hashOf(plan: Plan, cells: readonly PlanCell[]): string {
  const prompts: readonly PlanPrompt[] = plan.prompts
  const work = {
    format: FORMAT,
    prompts: prompts.map((prompt) => ({
      ...textOf(prompt),
      corrupt: prompt.corrupt ? textOf(prompt.corrupt) : null,
      metric: prompt.metric ?? null,
    })),
    random: plan.random,
    tasks: plan.tasks,
    threads: plan.threads,
    cells: cells.map(({ model, task, prompt, layers }) => [model.name, model.at, task, prompt, layers]),
  }
  return createHash('sha256')
    .update(JSON.stringify(sorted(work)))
    .digest('hex')
}

function textOf({ text, ids, bos, decoder }: PlanText): object {
  return { text: text ?? null, ids: ids ?? null, bos: bos ?? null, ...(decoder ? { decoder } : {}) }
}

function listed(names: readonly string[]): string {
  return names.length > 2 ? `${names[0]} … ${names.at(-1)}` : names.join(', ')
}

/** The same value with the keys of every object in order: how a plan is written does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
