/**
 * Cells of a plan where the rest of the app looks: scans among the head scores, sweeps among the experiments. In: cells
 * in the order of the plan. Out: rows of the store. A sweep that is split into several cells is one experiment again,
 * and is complete when all of its parts are there.
 */
import { placeOf } from '../intervene/collect.ts'
import type { Store } from '../store/capture-store.ts'
import type { ShardCell, ShardHeader } from '../store/shard-store.ts'
import type { CellValue } from './compute-cell.ts'
import type { Plan, PlanPrompt, PlanText } from './plan.ts'

type Sweep = Extract<CellValue, { kind: 'ablate' | 'patch' }>

/** A function that keeps one cell after the other. */
export function keeper(plan: Plan, header: ShardHeader): (store: Store, cell: ShardCell) => void {
  let open = { sweep: '', experiment: 0, parts: 0 }
  return (store, { value }) => {
    const cell = value as CellValue
    if (cell.kind === 'failed') store.saveCheckpoint(cell.checkpoint)
    else if (cell.kind === 'scan') store.saveScan(cell.checkpoint, cell.result)
    else {
      const sweep = JSON.stringify([cell.model, cell.task, cell.prompt])
      if (open.sweep !== sweep) open = { sweep, experiment: begin(store, plan, header, cell), parts: 0 }
      open.parts++
      const { cells, ...rest } = cell.result
      store.appendCells(
        open.experiment,
        cells.map((one) => ({ key: placeOf(one), value: one })),
      )
      if (open.parts === cell.parts) store.completeExperiment(open.experiment, rest)
    }
  }
}

// --- Internal helpers ---

function begin(store: Store, plan: Plan, { versions }: ShardHeader, cell: Sweep): number {
  const { checkpoint, kind, prompts, result, parts } = cell
  return store.saveExperiment({
    kind,
    checkpoint,
    plan: { request: requestOf(plan, cell), prompts, versions },
    cells: parts === 1 ? result.cells.length : 0, // of a part, the whole is not known yet
  })
}

/** What the app would have asked for the same. */
function requestOf(plan: Plan, { checkpoint, task: t, prompt: p, prompts }: Sweep): object {
  const task = plan.tasks[t]!
  const given: PlanPrompt | undefined = plan.prompts[p!]
  const base = { model: checkpoint.path }
  const first = given ? textOf(given) : { ids: prompts[0]!.map(({ id }) => id) }
  if (task.task === 'ablate') {
    const { over, kind, metric, reference, mean_over } = task
    return {
      ...base,
      prompt: first,
      over,
      kind,
      metric: given?.metric ?? metric,
      ...(reference ? { reference: reference.map(textOf) } : {}),
      ...(mean_over ? { meanOver: mean_over } : {}),
    }
  }
  if (task.task === 'scan') return base // a scan keeps its settings itself
  const { site, by, direction, metric } = task
  return {
    ...base,
    clean: first,
    corrupt: textOf(given!.corrupt!),
    site,
    ...(by ? { by } : {}),
    direction,
    metric: given!.metric ?? metric,
  }
}

function textOf({ text, ids, bos }: PlanText): PlanText {
  return { ...(text === undefined ? { ids: ids! } : { text }), ...(bos ? { bos } : {}) }
}
