/**
 * What the cells of a pattern say, as chosen: weights, or weights times the lengths of values; all keys of a row, or the
 * fewest that hold a share of it. In: a side of the picture. Out: the side as it is drawn, with the words for it. Values
 * are asked of the engine only when they are looked at; one answer serves every head of a layer.
 */
import { useQuery } from '@tanstack/react-query'
import type { ValueNormsReply } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { bosOfDerived, type Derivation, derivePattern } from '../../charts/derived-pattern.ts'
import type { BosMode } from '../../state/selection.ts'
import { useTool } from '../../state/store.ts'
import type { Side } from './use-pair.ts'

export type Weighting = 'weight' | ValueNormsReply['kind']
export type Mass = 'all' | '50' | '70' | '90' | '99'

export const WEIGHTINGS: readonly { readonly value: Weighting; readonly label: string }[] = [
  { value: 'weight', label: 'weight' },
  { value: 'value', label: 'weight × |v|' },
  { value: 'output', label: 'weight × |v W_O|' },
]
export const MASSES: readonly { readonly value: Mass; readonly label: string }[] = [
  { value: 'all', label: 'all keys' },
  { value: '50', label: '50 % of a row' },
  { value: '70', label: '70 % of a row' },
  { value: '90', label: '90 % of a row' },
  { value: '99', label: '99 % of a row' },
]

const WEIGHT = 'A[q, k]: softmax of the scores. Each row sums to 1.'

/** What a number of the picture is. */
export interface Unit {
  readonly label: string
  readonly definition: string
  /** The share of a row that is kept, in percent; null: all. */
  readonly mass: number | null
}

export interface Derived {
  /** null while the values are asked for. */
  readonly side: Side | null
  readonly bos: BosMode
  readonly unit: Unit
  readonly problem: Error | null
}

export const useWeighting = () => useTool<Weighting>('weighting', 'weight')
export const useMass = () => useTool<Mass>('mass', 'all')

/** The side as chosen. `whole`: no key is left out, as differences need it. */
export function useDerived(side: Side | null, bos: BosMode, whole: boolean): Derived {
  const [weighting] = useWeighting()
  const [share] = useMass()
  const wanted = weighting !== 'weight' && side !== null
  const layer = side?.head.layer ?? 0
  const norms = useQuery({
    // One key while nothing is asked: a walk over heads then makes no entries.
    queryKey: wanted ? ['value-norms', side.run.id, layer, weighting] : ['value-norms'],
    queryFn: ({ signal }) =>
      api.valueNorms(side!.run.id, layer, weighting as ValueNormsReply['kind'], signal),
    enabled: wanted,
    retry: false,
  })
  const mass = share === 'all' || whole ? null : Number(share)
  const unit: Unit = {
    label: WEIGHTINGS.find(({ value }) => value === weighting)?.label ?? 'weight',
    definition: weighting === 'weight' ? WEIGHT : (norms.data?.definition ?? ''),
    mass,
  }
  if (side === null || (wanted && !norms.data)) return { side: null, bos, unit, problem: norms.error }
  const of: Derivation = {
    norms: wanted ? (norms.data!.norms[side.head.head] ?? null) : null,
    mass: mass === null ? null : mass / 100,
    bos,
  }
  return {
    side: { ...side, pattern: derivePattern(side.pattern, of) },
    bos: bosOfDerived(of),
    unit,
    problem: null,
  }
}
