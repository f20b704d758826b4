/**
 * `headscope sweep PLAN.json --shard 3/64`: one share of a plan of scans and sweeps, into a file of its own. Costs the
 * cells that the file still lacks.
 */
import { basename, dirname, resolve } from 'node:path'
import type { Plan } from '../../plan/plan.ts'
import { command, Interrupted, type Place, UsageError } from '../command.ts'

export const sweep = command({
  name: 'sweep',
  usage: 'PLAN.json [options]',
  summary: 'Computes one share of a plan of scans, ablations and patches; merge joins the shares',
  detail:
    'A plan is JSON: models, prompts (or random repeats) and tasks; core/README.md has its fields. Which share has which cells follows from the plan alone. A share that was killed goes on where it was when the same command is given again.',
  examples: [
    'headscope sweep plan.json',
    'headscope sweep plan.json --shard 3/64 --store shard-3.db',
    'headscope sweep plan.json --shard $((SLURM_ARRAY_TASK_ID + 1))/64',
  ],
  options: {
    shard: { type: 'text', value: 'K/N', help: 'which share, counted from 1 (default 1/1: the whole plan)' },
    store: {
      type: 'text',
      value: 'FILE',
      help: 'file of this share (default: plan.K-of-N.db in the working folder)',
    },
    list: { type: 'flag', help: 'show the cells of this share and compute nothing' },
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const { shard, of } = shardIn(values.shard)
    const file = resolve(positionals[0]!)
    const [{ readPlan }, { listCells, shareOf }] = await Promise.all([
      import('../../plan/plan.ts'),
      import('../../plan/cells.ts'),
    ])
    const plan = readPlan(file)
    const models = await modelsOf(plan, file, place)
    const { cells, hash } = listCells(plan, models)
    const mine = shareOf(cells, shard, of)
    if (values.list) {
      const listed = mine.map(({ index, key, cost }) => ({ cell: index, key, cost }))
      if (out.json)
        out.document({ plan: hash, shard, of, plan_cells: cells.length, cells: listed, warnings: [] })
      else {
        for (const { cell, key, cost } of listed)
          out.line(`${String(cell).padStart(6)}  ${key}  ${work(cost)}`)
        out.line(
          out.style.dim(`${mine.length} of the plan’s ${cells.length} cells are in shard ${shard}/${of}`),
        )
      }
      return 0
    }
    const name = basename(file).replace(/\.json$/i, '')
    const store = resolve(values.store ?? `${name}${of === 1 ? '' : `.${shard}-of-${of}`}.db`)
    const [{ requireRuntime }, { specSummary }, { runShard }] = await Promise.all([
      import('../runtime.ts'),
      import('../../api/spec-summary.ts'),
      import('../../plan/shards.ts'),
    ])
    requireRuntime()
    let stored = 0
    try {
      const outcome = await runShard(plan, models, store, {
        shard,
        of,
        signal,
        summary: (model) => specSummary(model.spec),
        onProgress: call.progress(`shard ${shard}/${of}`),
        onCell: () => {
          stored++
        },
      })
      const warnings = outcome.failed.map(({ key, why }) => `${key}: ${why}`)
      if (out.json) {
        out.document({
          plan: outcome.planHash,
          shard,
          of,
          plan_cells: outcome.planCells,
          cells: outcome.cells,
          done: outcome.cells,
          computed: outcome.computed,
          failed: outcome.failed,
          store,
          warnings,
        })
        return 0
      }
      const before = outcome.cells - outcome.computed
      out.line(
        `Shard ${shard}/${of} is complete: ${outcome.cells} of the plan’s ${outcome.planCells} cells${before > 0 ? `, ${before} of them computed before` : ''}`,
      )
      out.line(out.style.dim(`Stored in ${store}`))
      out.warn(warnings)
      return 0
    } catch (error) {
      if (!signal.aborted) throw error
      throw new Interrupted(
        `Cancelled; ${stored} ${stored === 1 ? 'cell' : 'cells'} of shard ${shard}/${of} ${stored === 1 ? 'was' : 'were'} computed and stored in ${store}: give the same command again to go on.`,
      )
    }
  },
})

// --- Internal helpers ---

function shardIn(given: string | undefined): { shard: number; of: number } {
  if (given === undefined) return { shard: 1, of: 1 }
  const [, k, n] = /^(\d{1,6})\/(\d{1,6})$/.exec(given) ?? []
  const [shard, of] = [Number(k), Number(n)]
  if (k === undefined || shard < 1 || shard > of)
    throw new UsageError(
      `--shard is ${JSON.stringify(given)}, but must be K/N with K from 1 to N, such as 3/64`,
    )
  return { shard, of }
}

/** The plan's models on disk; a relative path begins at the plan's folder. */
async function modelsOf(plan: Plan, file: string, place: Place) {
  const { chooseModels } = await import('../models.ts')
  const found = []
  for (const { model, at } of plan.models)
    found.push(...(await chooseModels([model], at, place, dirname(file))).models)
  return found
}

function work(flops: number): string {
  return flops < 1e9 ? `${(flops / 1e6).toFixed(1)} Mflop` : `${(flops / 1e9).toFixed(1)} Gflop`
}
