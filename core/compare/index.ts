/** Comparisons of checkpoints: pairs, series, and the report that can be passed on. */
export { bestAssignment } from './assignment.ts'
export { COMPARE, type ComparedPrompt, type CompareOptions, compare } from './compare.ts'
export { type MostChangedOptions, mostChangedPatterns } from './most-changed.ts'
export { type LossDrop, lossDropOf, type Onset, onsetOf, type ScoredStep, strongestHeads } from './onset.ts'
export { type PatternDifference, patternDifference } from './patterns.ts'
export { type ReportInput, reportHtml } from './report.ts'
export {
  type BrokenMember,
  leftOut,
  type Series,
  type SeriesOptions,
  type SeriesStep,
  scanSeries,
  seriesOf,
  seriesStep,
} from './series.ts'
export type * from './types.ts'
export { compareVocabularies } from './vocabulary.ts'
export {
  type ComparedWeights,
  compareWeights,
  type Invariant,
  invariantsOf,
  WEIGHTS,
  type WeightComparison,
  type WeightDistance,
} from './weights.ts'
