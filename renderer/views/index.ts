/** The tabs of the centre. A new view is one file and one line here. */
import type { ComponentType } from 'react'
import { AblationView } from './ablation/ablation-view.tsx'
import { HeadsView } from './heads/heads-view.tsx'
import { InductionView } from './induction/induction-view.tsx'
import { PatchingView } from './patching/patching-view.tsx'
import { PatternView } from './pattern/pattern-view.tsx'

export interface ViewTab {
  readonly id: string
  readonly label: string
  readonly view: ComponentType
}

export const VIEWS: readonly ViewTab[] = [
  { id: 'heads', label: 'Heads', view: HeadsView },
  { id: 'pattern', label: 'Pattern', view: PatternView },
  { id: 'induction', label: 'Induction', view: InductionView },
  { id: 'ablation', label: 'Ablation', view: AblationView },
  { id: 'patching', label: 'Patching', view: PatchingView },
]
