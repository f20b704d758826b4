/**
 * Cells of a plan where the rest of the app looks: scans among the head scores, sweeps among the experiments. In: cells
 * in the order of the plan. Out: rows of the store. A sweep that is split into several cells is one experiment again,
 * and is complete when all of its parts are there.
 */
import { cellKey } from '../intervene/cell-key.ts'
import type { Store } from '../store/capture-store.ts'
import type { ShardCell, ShardHeader } from '../store/shard-store.ts'
import type { CellValue } from './compute-cell.ts'
import type { Plan, PlanPrompt, PlanText } from './plan.ts'

type Sweep = Extract<CellValue, { kind: 'ablate' | 'patch' | 'path' | 'attribute' }>

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
        cells.map((one) => ({ key: cellKey(cell.kind, one), value: one })),
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
  const two = {
    ...base,
    clean: first,
    corrupt: textOf(given!.corrupt!),
    metric: given!.metric ?? task.metric,
  }
  if (task.task === 'path') {
    const { from, to, mlps } = task
    return { ...two, from, to, ...(mlps ? { mlps } : {}) }
  }
  if (task.task === 'attribute') {
    const { sites, verify, grad_drop } = task
    return {
      ...two,
      ...(sites ? { sites } : {}),
      ...(verify ? { verify } : {}),
      ...(grad_drop ? { gradDrop: true } : {}),
    }
  }
  const { site, by, direction } = task
  return { ...two, site, ...(by ? { by } : {}), direction }
}

function textOf({ text, ids, bos, decoder }: PlanText): PlanText {
  return {
    ...(text === undefined ? { ids: ids! } : { text }),
    ...(bos ? { bos } : {}),
    ...(decoder ? { decoder } : {}),
  }
}
