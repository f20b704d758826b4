/** Runs a sweep's cells that are not known yet, with progress, in the order of the keys. */
import type { Engine } from '../run/engine.ts'
import type { ResolvedMetric } from '../run/metrics.ts'
import type { SweepBase } from './base.ts'
import { blockRows, planBatches, ROWS_PER_BATCH, runSweep, type SweepCell } from './sweep.ts'
import type { Cell, SweepOptions } from './types.ts'

/** How a place is told from another. */
export function placeOf(cell: Pick<Cell, 'layer' | 'head' | 'pos'>): string {
  return `${cell.layer} ${cell.head ?? ''} ${cell.pos ?? ''}`
}

/** The part of a sweep's places that `layers` chooses; all of them without it. */
export function ofLayers<P>(
  places: readonly P[],
  layerOf: (place: P) => number,
  layers: readonly number[] | undefined,
): readonly P[] {
  return layers ? places.filter((place) => layers.includes(layerOf(place))) : places
}

/** All cells in the order given: those known and those computed, each finished by `finish`. */
export async function collectCells<C extends Cell>(
  engine: Engine,
  base: SweepBase,
  cells: readonly SweepCell<Pick<Cell, 'layer' | 'head' | 'pos'>>[],
  metric: ResolvedMetric,
  finish: (place: Pick<Cell, 'layer' | 'head' | 'pos'>, value: number) => C,
  options: SweepOptions<C>,
): Promise<C[]> {
  const done = new Map((options.known ?? []).map((cell) => [placeOf(cell), cell]))
  const todo = cells.filter((cell) => !done.has(placeOf(cell.key)))
  const length = base.run.ids[0]!.length
  const layers = engine.model.spec.stacks.at(-1)!.layers.length
  const total = blockRows(planBatches(todo, length), layers, length)
  const started = performance.now()
  let rowsDone = 0
  await runSweep(
    engine,
    base,
    todo,
    metric,
    (results, rows) => {
      const finished = results.map(({ key, value }) => finish(key, value))
      for (const cell of finished) done.set(placeOf(cell), cell)
      rowsDone += rows
      const seconds = (performance.now() - started) / 1000
      options.onProgress?.({
        done: done.size,
        total: cells.length,
        secondsLeft: rowsDone === total ? 0 : (seconds / Math.max(1, rowsDone)) * (total - rowsDone),
      })
      options.onCells?.(finished)
    },
    options.signal,
  )
  return cells.map((cell) => done.get(placeOf(cell.key))!)
}

/** A metric that is not a number becomes null with its reason. */
export function finiteOr(value: number): { value: number | null; why?: string } {
  return Number.isFinite(value) ? { value } : { value: null, why: 'the edited run gives no finite metric' }
}

/**
 * Prepacked weights pay once a block has run some 25 times, batch after batch; `rows` are those of all cells together.
 * At full batches the gain is small, and packing a 135M model costs 1.5 s, which a shorter sweep would feel.
 */
export function modeFor(rows: number): 'explore' | 'sweep' {
  return rows >= 25 * ROWS_PER_BATCH ? 'sweep' : 'explore'
}
