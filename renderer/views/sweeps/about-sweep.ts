/** What a number of a sweep is and where it comes from, for hints. In: its metric, checkpoint, flags. Out: lines. Pure. */
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { METRICS } from '../../state/metric.ts'

/** `says`: what the number is; `facts`: what else it depends on, empty ones are left out. */
export function aboutSweep(
  model: Pick<OpenedModel, 'name' | 'contentHash'>,
  metric: Metric,
  says: string,
  facts: readonly string[] = [],
): string {
  const definition = METRICS.find(({ value }) => value === metric.kind)?.says ?? metric.kind
  const checkpoint = model.contentHash ? `${model.name} (${model.contentHash.slice(0, 12)})` : model.name
  return [
    says,
    `Metric: ${definition}.`,
    'n = 1 run a cell, nothing in it is random: no seed, no interval.',
    ...facts.filter((fact) => fact !== ''),
    `checkpoint ${checkpoint}`,
  ].join('\n')
}

/** A metric's value as it is read: with a real minus. */
export function rounded(value: number, digits = 3): string {
  return value.toPrecision(digits).replace(/^-/, '−')
}
