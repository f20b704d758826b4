/** The public parts of plans: work that is split into shares and joined again. */

export { listCells, type PlanCell, type PlanModel, shareOf } from './cells.ts'
export type { CellValue } from './compute-cell.ts'
export { type Plan, type PlanPrompt, type PlanTask, parsePlan, readPlan } from './plan.ts'
export { type Merged, mergeShards, runShard, type ShardOptions, type ShardOutcome } from './shards.ts'
