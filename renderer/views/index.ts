/** The tabs of the centre. A new view is one file and one line here. */
import type { ComponentType } from 'react'
import type { OpenedModel } from '../../core/api/contract.ts'
import { AblationView } from './ablation/ablation-view.tsx'
import { AttributionView } from './attribution/attribution-view.tsx'
import { BenchView } from './bench/bench-view.tsx'
import { CompareView } from './compare/compare-view.tsx'
import { CorpusView } from './corpus/corpus-view.tsx'
import { GenerateView } from './generate/generate-view.tsx'
import { HeadsView } from './heads/heads-view.tsx'
import { InductionView } from './induction/induction-view.tsx'
import { NotebookView } from './notebook/notebook-view.tsx'
import { PatchingView } from './patching/patching-view.tsx'
import { PathsView } from './paths/paths-view.tsx'
import { PatternView } from './pattern/pattern-view.tsx'
import { RelationView } from './relation/relation-view.tsx'
import { ResidualView } from './residual/residual-view.tsx'
import { SeriesView } from './series/series-view.tsx'
import { StoreView } from './store/store-view.tsx'
import { SummaryView } from './summary/summary-view.tsx'
import { TextsView } from './texts/texts-view.tsx'
import { WeightsView } from './weights/weights-view.tsx'
import { WordsView } from './words/words-view.tsx'

export interface ViewTab {
  readonly id: string
  readonly label: string
  readonly view: ComponentType
  /** Only models for which it has something to show have the tab. */
  readonly needs?: (model: OpenedModel) => boolean
}

export const VIEWS: readonly ViewTab[] = [
  { id: 'heads', label: 'Heads', view: HeadsView },
  { id: 'pattern', label: 'Pattern', view: PatternView },
  { id: 'induction', label: 'Induction', view: InductionView },
  { id: 'summary', label: 'Rollout', view: SummaryView },
  { id: 'residual', label: 'Residual', view: ResidualView },
  { id: 'attribution', label: 'Attribution', view: AttributionView },
  { id: 'ablation', label: 'Ablation', view: AblationView },
  { id: 'patching', label: 'Patching', view: PatchingView },
  { id: 'paths', label: 'Paths', view: PathsView },
  { id: 'weights', label: 'Weights', view: WeightsView },
  { id: 'words', label: 'Words', view: WordsView },
  { id: 'series', label: 'Series', view: SeriesView },
  { id: 'compare', label: 'Compare', view: CompareView },
  { id: 'corpus', label: 'Corpus', view: CorpusView },
  { id: 'relation', label: 'Relation', view: RelationView },
  { id: 'store', label: 'Store', view: StoreView },
  { id: 'bench', label: 'First principles', view: BenchView },
  { id: 'generate', label: 'Generate', view: GenerateView },
  { id: 'notebook', label: 'Notebook', view: NotebookView },
  { id: 'texts', label: 'Encoder–decoder', view: TextsView, needs: ({ spec }) => spec.encoder !== undefined },
]
