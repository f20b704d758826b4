/** What every answer says of its model. */
import { nonFiniteWarnings } from '../checkpoint/non-finite.ts'
import type { Model } from '../run/model.ts'
import type { Chosen } from './models.ts'
import { titleOf } from './models.ts'
import type { Style } from './style.ts'

export interface ModelFacts {
  readonly path: string
  readonly hash: string
  readonly family: string
  /** The step, when the checkpoint was taken out of a series. */
  readonly at?: string
}

/** The `model` of a JSON document, and all its warnings. Waits for the pass over the weights (cached). */
export async function modelFacts(
  model: Pick<Model, 'path' | 'spec' | 'contentHash' | 'warnings'>,
  chosen: Chosen,
): Promise<{ model: ModelFacts; warnings: string[] }> {
  const content = await model.contentHash()
  return {
    model: {
      path: model.path,
      hash: content.hash,
      family: model.spec.family,
      ...(chosen.at === null ? {} : { at: chosen.at }),
    },
    warnings: [...model.warnings, ...nonFiniteWarnings(content)],
  }
}

/** The first line of an answer: which model this is. */
export function headline(model: Pick<Model, 'spec'>, chosen: Chosen, asked: boolean, style: Style): string {
  const layers = model.spec.stacks.at(-1)!.layers
  const sizes = `${model.spec.family}, ${layers.length} layers × ${layers[0]!.nHeads} heads`
  return `${style.bold(titleOf(chosen, asked))}  ${style.dim(sizes)}`
}
