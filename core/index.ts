/** Headscope's scripting API: everything that the app and the command line do is a call here. */

export {
  type AttentionSummary,
  type AttentionSummaryOptions,
  attentionSummary,
} from './analysis/attention-summary.ts'
export { windowsOf } from './analysis/batches.ts'
export { type CircuitOptions, type TokenPair, tokenPairs } from './analysis/circuits.ts'
export type { Composition, CompositionCell, CompositionKind } from './analysis/composition.ts'
export { copyingScores } from './analysis/copying-scores.ts'
export { type CorpusEdge, type CorpusHead, type CorpusOptions, headsOverCorpus } from './analysis/corpus.ts'
export {
  DLA_DEFINITION,
  type Dla,
  type DlaComponent,
  type DlaOptions,
  type DlaSource,
  directLogitAttribution,
} from './analysis/dla.ts'
export { type Neighbour, type Neighbours, nearestTokens, type Term } from './analysis/embedding.ts'
export * as firstPrinciples from './analysis/first-principles/index.ts'
export {
  LENS_DEFINITION,
  type Lens,
  type LensCell,
  type LensLayer,
  type LensOptions,
  logitLens,
} from './analysis/lens.ts'
export { type PatchedLens, patchedLens } from './analysis/patched-lens.ts'
export {
  type HeadSummary,
  type PatternSummaries,
  type PatternSummaryOptions,
  summarisePatterns,
} from './analysis/pattern-summary.ts'
export * from './analysis/relation.ts'
export { RELATION_EXAMPLE } from './analysis/relation-example.ts'
export { type RepeatPair, repeatPairs } from './analysis/repeats.ts'
export {
  type Cell as ResidualCell,
  type Change as ResidualChange,
  residualChange,
  residualComponents,
  type Writer,
} from './analysis/residual-components.ts'
export { type ContextShift, contextShift, type InContext } from './analysis/residual-context.ts'
export {
  borderHook,
  type ConvergenceResult,
  compoundConvergence,
  positionCosines,
  type ResidualGeometry,
  type ResidualStream,
  residualGeometry,
  residualStream,
} from './analysis/residual-geometry.ts'
export { isScanOf, type ScanOptions, scanHeads } from './analysis/scan.ts'
export { SCORES } from './analysis/scores/index.ts'
export type { AnyScore } from './analysis/scores/score.ts'
export { findSpans, type SpanHead, type SpanItem, type SpanOptions, type Spans } from './analysis/spans.ts'
export {
  FLOW,
  flow,
  type LayerPattern,
  ROLLOUT,
  rollout,
  rolloutRow,
  type SummaryOptions,
} from './analysis/summaries.ts'
export { TOKEN_CLASSES, type TokenChoice, tokenClass, tokensOf } from './analysis/token-classes.ts'
export * from './analysis/types.ts'
export {
  VALUE_WEIGHTED,
  type ValueNormKind,
  type ValueNormOptions,
  type ValueNorms,
  valueNorms,
} from './analysis/value-norms.ts'
export { type Check, type Verified, type VerifyOptions, verify } from './analysis/verify/index.ts'
export {
  type HeadSpectrum,
  WEIGHT_DEFINITIONS,
  type WeightAnalysis,
  type WeightOptions,
  weightAnalysis,
} from './analysis/weights.ts'
export * from './checkpoint/index.ts'
export * from './compare/index.ts'
export { type ErrorCode, HeadscopeError, isCancelled, sentence } from './errors.ts'
export { type Exported, exportStored } from './exchange/export.ts'
export { type ImportedRun, importCapture, readCapture } from './exchange/import.ts'
export { familyNames } from './families/index.ts'
export { blockHook, headName, parseHook } from './graph/hook-names.ts'
export type { ModelSpec } from './graph/model-spec.ts'
export type { Tensor } from './graph/tensor.ts'
export type {
  Ablated,
  AblateKind,
  AblateOptions,
  AblateOver,
} from './intervene/ablate.ts'
export type {
  Attributed,
  AttributeOptions,
  AttributionCell,
  AttributionSite,
} from './intervene/attribute.ts'
export {
  PATCH_SITES,
  type PatchBy,
  type Patched,
  type PatchOptions,
  type PatchSite,
} from './intervene/patch.ts'
export type {
  PathCell,
  PathOptions,
  PathPatched,
  PathPlan,
} from './intervene/path.ts'
export { type PathEdge, reaches, readReceiver, readSender } from './intervene/path-names.ts'
export { SPAN_EFFECT, type SpanEffect, type SpanEffectOptions, spanEffects } from './intervene/span-effect.ts'
export type * from './intervene/types.ts'
export { type NotebookInput, notebookHtml } from './notebook/notebook-html.ts'
export * from './plan/index.ts'
export { backward, type GradientRequest, type Gradients } from './run/backward.ts'
export { decoderPrompt } from './run/decoder-prompt.ts'
export { availableDevices, DEVICES, type Device } from './run/devices.ts'
export { estimateRun, type PatternKeeping, type RunEstimate, refuseUnlessFits } from './run/estimate.ts'
export type { Generated, GenerateOptions } from './run/generate.ts'
export { type GradientOptions, gradients, type MetricGradients } from './run/gradients-of.ts'
export { cacheBytes, type Inspection, inspectPath as inspect } from './run/inspection.ts'
export { type Metric, metricValue, type ResolvedMetric, resolveMetric } from './run/metrics.ts'
export { type Model, type OpenOptions, openModel } from './run/model.ts'
export { asOneText, type TwoTexts } from './run/one-text.ts'
export { type OnnxModel, openOnnx } from './run/onnx-model.ts'
export { type OpenCost, openCost } from './run/open-cost.ts'
export type { ParameterCount } from './run/parameters.ts'
export { type FilePrompt, readPromptFile } from './run/prompt-file.ts'
export { type BaseRun, baseRun, type RestartRequest, restart } from './run/restart.ts'
export type { HookInfo } from './run/segments.ts'
export type * from './run/types.ts'
export { openStore, type SaveExtra, type Store } from './store/capture-store.ts'
export { defaultStorePath } from './store/default-path.ts'
export type { FigureInput, PinnedFigure, StoredFigure } from './store/figures.ts'
export type { HeadNote } from './store/notes.ts'
export type { SqlResult } from './store/read-only-sql.ts'
export { closeQueries, type QueryOptions, query as querySql } from './store/sql.ts'
export type { Streamed } from './streamed.ts'
export { ablate, attribute, patch, pathPatch, scanSeries } from './streams.ts'
