/** What a number of a sweep is and where it comes from, for hints. In: its metric, checkpoint, flags. Out: lines. Pure. */

import type { OpenedModel } from '../../../core/api/contract.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { METRICS } from '../../state/metric.ts'
import { nameWithHash } from '../../state/model-name.ts'

type Checkpoint = Pick<OpenedModel, 'name' | 'contentHash'>

/** `says`: what the number is; `facts`: what else it depends on, empty ones are left out. */
export function aboutSweep(
  model: Checkpoint,
  metric: Metric,
  says: string,
  facts: readonly string[] = [],
): string {
  const definition = METRICS.find(({ value }) => value === metric.kind)?.says ?? metric.kind
  return lines(
    model,
    says,
    `Metric: ${definition}.`,
    'n = 1 run a cell, nothing in it is random: no seed, no interval.',
    ...facts,
  )
}

/** The same of numbers of one run. */
export function aboutRun(model: Checkpoint, says: string, facts: readonly string[] = []): string {
  return lines(model, says, 'n = 1 prompt, nothing in it is random: no seed, no interval.', ...facts)
}

/** A metric's value as it is read: with a real minus. */
export function rounded(value: number, digits = 3): string {
  return value.toPrecision(digits).replace(/^-/, '−')
}

// --- Internal helpers ---

function lines({ name, contentHash }: Checkpoint, ...facts: readonly string[]): string {
  return [...facts.filter((fact) => fact !== ''), `checkpoint ${nameWithHash(name, contentHash)}`].join('\n')
}
