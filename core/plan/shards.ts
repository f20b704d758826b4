/**
 * One share of a plan, from its first cell to its final file; and shares joined. In: a plan, its models, k of n, a
 * file. Out: a file that depends on the plan and the weights only, so that shares computed anywhere, joined, are the
 * file of one machine, byte for byte. Cost: that of the cells which are not in the file yet.
 */
import { HeadscopeError } from '../errors.ts'
import { type Model, openModel } from '../run/model.ts'
import { versions } from '../run/versions.ts'
import { writeShardFile } from '../store/shard-file.ts'
import {
  openShard,
  readShard,
  type ShardCell,
  type ShardHeader,
  type ShardReads,
  type ShardStore,
  shardExists,
} from '../store/shard-store.ts'
import { listCells, nameOf, type PlanCell, type PlanModel, shareOf } from './cells.ts'
import { type CellValue, type ComputeOptions, computeCell } from './compute-cell.ts'
import { keeper } from './keep.ts'
import type { Plan } from './plan.ts'

export interface ShardOptions extends Pick<ComputeOptions, 'summary'> {
  /** Counted from 1; default 1 of 1. */
  readonly shard?: number
  readonly of?: number
  readonly cacheDir?: string
  readonly signal?: AbortSignal
  /** How far the cell in flight is, and how many cells are done. */
  readonly onProgress?: (progress: {
    readonly done: number
    readonly total: number
    readonly secondsLeft: number | null
  }) => void
  /** Called when a cell is stored. */
  readonly onCell?: (cell: PlanCell, value: CellValue) => void
}

export interface ShardOutcome {
  readonly planHash: string
  readonly shard: number
  readonly of: number
  /** Cells of the whole plan, of this share, and how many of these were computed now. */
  readonly planCells: number
  readonly cells: number
  readonly computed: number
  /** Cells that their model or prompt cannot have. */
  readonly failed: readonly { readonly key: string; readonly why: string }[]
}

/** Computes what a share still lacks and brings its file into its final form. Nothing is done when it is complete. */
export async function runShard(
  plan: Plan,
  models: readonly PlanModel[],
  path: string,
  options: ShardOptions = {},
): Promise<ShardOutcome> {
  const { shard = 1, of = 1 } = options
  if (!Number.isInteger(of) || of < 1 || !Number.isInteger(shard) || shard < 1 || shard > of)
    throw new HeadscopeError(
      'bad-request',
      `There is no shard ${shard}/${of}: shards are counted from 1/${Math.max(of, 1)} on.`,
    )
  const { cells, hash } = listCells(plan, models)
  const mine = shareOf(cells, shard, of)
  const header: ShardHeader = {
    planHash: hash,
    plan,
    shard,
    of,
    cells: cells.length,
    versions: { headscope: versions.headscope, onnxruntime: versions.onnxruntime },
  }
  const outcome = { planHash: hash, shard, of, planCells: cells.length, cells: mine.length }
  if (shardExists(path)) {
    const finished = completeShard(path, header)
    if (finished) return { ...outcome, computed: 0, failed: finished }
  }
  const store = openShard(path, header)
  try {
    const computed = await computeAll(store, plan, mine, options)
    const failed = failures(store)
    writeShardFile(path, header, drain(store), keeper(plan, header))
    return { ...outcome, computed, failed }
  } finally {
    store.close()
  }
}

export interface Merged {
  readonly planHash: string
  readonly shards: number
  readonly cells: number
}

/**
 * Joins all shares of one plan into `out`, the file that one machine would have written. Throws `bad-request` or
 * `bad-store` naming the share that is missing, given twice, incomplete or foreign; `out` is then not made.
 */
export function mergeShards(paths: readonly string[], out: string): Merged {
  if (shardExists(out))
    throw new HeadscopeError('in-use', `${out} exists already; remove it, or name another file with --out.`)
  const shards: ShardReads[] = []
  try {
    for (const path of paths) shards.push(readShard(path))
    checkShards(shards)
    const { header } = shards[0]!
    const owner = new Map(shards.flatMap((shard) => shard.done().map((index) => [index, shard] as const)))
    const weights = new Map<string, { hash: string; from: string }>()
    const inOrder = function* (): Iterable<ShardCell> {
      for (let index = 0; index < header.cells; index++) {
        const shard = owner.get(index)!
        const cell = shard.cell(index)
        requireSameWeights(weights, cell.value as CellValue, shard.path)
        yield cell
      }
    }
    writeShardFile(out, { ...header, shard: 1, of: 1 }, inOrder(), keeper(header.plan as Plan, header))
    return { planHash: header.planHash, shards: shards.length, cells: header.cells }
  } finally {
    for (const shard of shards) shard.close()
  }
}

// --- Internal helpers ---

/** What failed in a complete share; null when it is not complete. Throws when the file holds something else. */
function completeShard(path: string, header: ShardHeader): ShardOutcome['failed'] | null {
  const reads = readShard(path)
  try {
    if (!reads.complete) return null
    const same =
      reads.header.planHash === header.planHash &&
      reads.header.shard === header.shard &&
      reads.header.of === header.of
    return same ? failures(reads) : null // openShard says what it is
  } finally {
    reads.close()
  }
}

async function computeAll(
  store: ShardStore,
  plan: Plan,
  mine: readonly PlanCell[],
  options: ShardOptions,
): Promise<number> {
  const done = new Set(store.done())
  const todo = mine.filter(({ index }) => !done.has(index))
  const total = todo.reduce((sum, { cost }) => sum + cost, 0)
  const began = performance.now()
  let spent = 0
  let open = null as { path: string; model: Model } | null
  try {
    for (const cell of todo) {
      if (options.signal?.aborted) throw new HeadscopeError('cancelled', 'The sweep was cancelled.')
      if (open?.path !== cell.model.path) {
        await open?.model.close()
        open = null
        open = { path: cell.model.path, model: await openFor(cell, plan, options) }
      }
      const value = await computeCell(open.model, plan, cell, {
        signal: options.signal,
        ...(options.summary ? { summary: options.summary } : {}),
        onProgress: (progress) => tell(progress.total > 0 ? (cell.cost * progress.done) / progress.total : 0),
      })
      store.put({ cell: cell.index, key: cell.key, value })
      spent += cell.cost
      options.onCell?.(cell, value)
      tell(0)
    }
  } finally {
    await open?.model.close()
  }
  return todo.length

  function tell(within: number): void {
    const share = spent + within
    const seconds = (performance.now() - began) / 1000
    options.onProgress?.({
      done: share,
      total,
      secondsLeft: share > 0 ? (seconds * (total - share)) / share : null,
    })
  }
}

function openFor(cell: PlanCell, plan: Plan, { signal, cacheDir }: ShardOptions): Promise<Model> {
  return openModel(cell.model.path, {
    threads: plan.threads,
    ...(signal ? { signal } : {}),
    ...(cacheDir === undefined ? {} : { cacheDir }),
  })
}

/** Every cell in order; the file is closed after the last, so that another can take its place. */
function* drain(store: ShardStore): Iterable<ShardCell> {
  for (const index of store.done()) yield store.cell(index)
  store.close()
}

function failures(reads: Pick<ShardReads, 'done' | 'cell'>): ShardOutcome['failed'] {
  return reads.done().flatMap((index) => {
    const { key, value } = reads.cell(index)
    const { kind, why } = value as { kind: string; why: string }
    return kind === 'failed' ? [{ key, why }] : []
  })
}

function checkShards(shards: readonly ShardReads[]): void {
  const [first] = shards
  if (!first)
    throw new HeadscopeError('bad-request', 'There is nothing to join: name the stores of all shards.')
  const { of, planHash } = first.header
  const seen = new Map<number, string>()
  for (const { header, path, complete, done } of shards) {
    const name = `shard ${header.shard}/${header.of}`
    if (header.planHash !== planHash)
      throw new HeadscopeError(
        'bad-store',
        `${path} (${name}) belongs to another plan than ${first.path}; leave it out.`,
      )
    if (header.of !== of)
      throw new HeadscopeError(
        'bad-store',
        `${path} is ${name}, but ${first.path} is one of ${of}; join shards of one division only.`,
      )
    const changed = Object.keys(first.header.versions).find(
      (key) => header.versions[key] !== first.header.versions[key],
    )
    if (changed)
      throw new HeadscopeError(
        'bad-store',
        `${path} (${name}) was computed by ${changed} ${header.versions[changed]}, but ${first.path} by ${first.header.versions[changed]}; compute it again.`,
      )
    const other = seen.get(header.shard)
    if (other !== undefined)
      throw new HeadscopeError('bad-store', `${name} is given twice: ${other} and ${path}; leave one out.`)
    seen.set(header.shard, path)
    if (!complete)
      throw new HeadscopeError(
        'bad-store',
        `${path} (${name}) is not complete (${done().length} cells so far); run headscope sweep on it again.`,
      )
  }
  const missing = Array.from({ length: of }, (_, i) => i + 1).filter((shard) => !seen.has(shard))
  if (missing.length > 0)
    throw new HeadscopeError(
      'bad-store',
      `${missing.length === 1 ? 'Shard' : 'Shards'} ${missing.slice(0, 12).join(', ')}${missing.length > 12 ? ' …' : ''} of ${of} ${missing.length === 1 ? 'is' : 'are'} missing; name the stores of all shards.`,
    )
  checkCells(shards, first.header.cells)
}

/** Every cell in exactly one share: a share whose rows were changed by hand is found here. */
function checkCells(shards: readonly ShardReads[], cells: number): void {
  const owner = new Map<number, string>()
  for (const { path, done } of shards)
    for (const index of done()) {
      const other = owner.get(index)
      if (other !== undefined || index >= cells)
        throw new HeadscopeError(
          'bad-store',
          other === undefined
            ? `${path} holds cell ${index}, but the plan has ${cells}; compute that shard again.`
            : `Cell ${index} is in both ${other} and ${path}; compute these shards again.`,
        )
      owner.set(index, path)
    }
  for (let index = 0; index < cells; index++)
    if (!owner.has(index))
      throw new HeadscopeError(
        'bad-store',
        `Cell ${index} of ${cells} is in no shard; compute the shards again.`,
      )
}

function requireSameWeights(
  known: Map<string, { hash: string; from: string }>,
  { model, checkpoint }: CellValue,
  path: string,
): void {
  const name = nameOf(model)
  const other = known.get(name)
  if (other && other.hash !== checkpoint.contentHash)
    throw new HeadscopeError(
      'bad-store',
      `${path} was computed with other weights of ${name} than ${other.from}; compute it again with the same checkpoint.`,
    )
  known.set(name, other ?? { hash: checkpoint.contentHash, from: path })
}
