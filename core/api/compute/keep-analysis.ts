/**
 * Keeps a finished analysis. In: the models that it read, what was asked and what it gave. Out: its number in the
 * workspace. One transaction; waits for the pass over the weights (cached).
 */
import { versions } from '../../run/versions.ts'
import type { Experiments } from '../../store/experiments.ts'
import { type Given, recordOf, titleOf } from '../analysis-record.ts'
import type { AnalysedModel, Analyses, AnalysisKind } from '../contract-analyses.ts'

/** What the plan of an analysis holds in the store. */
export interface AnalysisPlan<K extends AnalysisKind = AnalysisKind> {
  readonly request: Analyses[K]['request']
  readonly models: readonly AnalysedModel[]
  readonly versions: typeof versions
}

interface Party {
  readonly path: string
  readonly name: string
  readonly spec: { readonly family: string }
  contentHash(): Promise<{ readonly hash: string }>
}

/** A model's facts as a plan keeps them. */
export async function analysed({ path, name, spec, contentHash }: Party): Promise<AnalysedModel> {
  return { path, name, family: spec.family, contentHash: (await contentHash()).hash }
}

/** `models`: the first owns it (a comparison's A, a series' last step), the others are named beside. */
export function keepAnalysis<K extends AnalysisKind>(
  store: Pick<Experiments, 'keepExperiment'>,
  kind: K,
  models: readonly [AnalysedModel, ...AnalysedModel[]],
  request: Analyses[K]['request'],
  reply: Given<K>,
): number {
  const [checkpoint, ...others] = models
  const plan: AnalysisPlan<K> = { request, models, versions }
  const name = titleOf(kind, request, reply)
  return store.keepExperiment({ kind, name, checkpoint, others, plan, ...recordOf(kind, reply) })
}

/** The same of opened models. */
export async function keepAnalysisOf<K extends AnalysisKind>(
  store: Pick<Experiments, 'keepExperiment'>,
  kind: K,
  [first, ...others]: readonly [Party, ...Party[]],
  request: Analyses[K]['request'],
  reply: Given<K>,
): Promise<number> {
  const models = [await analysed(first), ...(await Promise.all(others.map(analysed)))] as const
  return keepAnalysis(store, kind, models, request, reply)
}
