/** Attention from first principles: one head of one real run, taken apart; every formula checked in the tests beside. */
export * from './accounting.ts'
export * from './basis.ts'
export * from './edit-step.ts'
export {
  type BlockGradients,
  blockGradients,
  type HeadGradients,
  headGradients,
  type Path,
  residualPath,
  toResidual,
} from './gradients.ts'
export { type HeadPlace, type HeadRun, headRun, type Rows } from './head-run.ts'
export * from './nudge.ts'
export * from './output.ts'
export * from './parameters.ts'
export * from './ranks.ts'
export * from './saturation.ts'
export { type ScoreChanges, type ScoreSteps, scoreSteps, softmax } from './scores.ts'
export { headSteps, type Step } from './steps.ts'
export type { TypedCell } from './typed-cells.ts'
