/** The tabs of the centre, in groups. A new view is one file and one line here. */
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

/** What the views are for, in the order of a study. */
export const GROUPS = [
  { id: 'look', label: 'Look at a prompt' },
  { id: 'test', label: 'Find what matters' },
  { id: 'weights', label: 'Read the weights' },
  { id: 'compare', label: 'Compare checkpoints' },
  { id: 'texts', label: 'Go over many texts' },
  { id: 'run', label: 'Run it by hand' },
  { id: 'keep', label: 'Keep' },
] as const

export interface ViewTab {
  readonly id: string
  readonly label: string
  readonly group: (typeof GROUPS)[number]['id']
  /** What it answers, in a few words. */
  readonly says: string
  readonly view: ComponentType
  /** Only models for which it has something to show have the tab. */
  readonly needs?: (model: OpenedModel) => boolean
}

/** In the order of their groups; the keys 1 to 9 open the first nine. */
export const VIEWS: readonly ViewTab[] = [
  { id: 'heads', label: 'Heads', group: 'look', says: 'every head, by score or by pattern', view: HeadsView },
  { id: 'pattern', label: 'Pattern', group: 'look', says: 'where one head looks', view: PatternView },
  {
    id: 'induction',
    label: 'Induction',
    group: 'look',
    says: 'A B … A: who looks at B',
    view: InductionView,
  },
  { id: 'summary', label: 'Rollout', group: 'look', says: 'attention through all layers', view: SummaryView },
  { id: 'residual', label: 'Residual', group: 'look', says: 'what each layer would say', view: ResidualView },
  {
    id: 'attribution',
    label: 'Attribution',
    group: 'test',
    says: 'who wrote the answer',
    view: AttributionView,
  },
  {
    id: 'ablation',
    label: 'Ablation',
    group: 'test',
    says: 'what is lost without a part',
    view: AblationView,
  },
  {
    id: 'patching',
    label: 'Patching',
    group: 'test',
    says: 'what carries a difference of two prompts',
    view: PatchingView,
  },
  { id: 'paths', label: 'Paths', group: 'test', says: 'from which part to which', view: PathsView },
  {
    id: 'weights',
    label: 'Weights',
    group: 'weights',
    says: 'spectra, copying, who reads whom',
    view: WeightsView,
  },
  {
    id: 'words',
    label: 'Words',
    group: 'weights',
    says: 'directions and neighbours of tokens',
    view: WordsView,
  },
  { id: 'series', label: 'Series', group: 'compare', says: 'scores over training steps', view: SeriesView },
  {
    id: 'compare',
    label: 'Compare',
    group: 'compare',
    says: 'what changed between two checkpoints',
    view: CompareView,
  },
  {
    id: 'corpus',
    label: 'Corpus',
    group: 'texts',
    says: 'where a head is strongest in your texts',
    view: CorpusView,
  },
  {
    id: 'relation',
    label: 'Relation',
    group: 'texts',
    says: 'which heads fetch an attribute',
    view: RelationView,
  },
  {
    id: 'generate',
    label: 'Generate',
    group: 'run',
    says: 'token by token, with hooks and edits',
    view: GenerateView,
  },
  {
    id: 'bench',
    label: 'First principles',
    group: 'run',
    says: 'one head as matrices that you can change',
    view: BenchView,
  },
  {
    id: 'texts',
    label: 'Encoder–decoder',
    group: 'run',
    says: 'two texts and the attention between them',
    view: TextsView,
    needs: ({ spec }) => spec.encoder !== undefined,
  },
  {
    id: 'notebook',
    label: 'Notebook',
    group: 'keep',
    says: 'pinned figures with notes, as one page',
    view: NotebookView,
  },
  { id: 'store', label: 'Store', group: 'keep', says: 'stored runs, their size, SQL', view: StoreView },
]

/** The views that have something to show for a model. */
export function viewsOf(model: OpenedModel | null | undefined): readonly ViewTab[] {
  return VIEWS.filter(({ needs }) => !needs || (model && needs(model)))
}
