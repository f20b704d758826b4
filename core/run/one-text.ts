/**
 * Analyses look at one text; an encoder–decoder has two. In: prompts, each with its decoder's ids where there is an
 * encoder. Out: a model of one stack and the ids that it reads: the decoder over the prompts' one source.
 */
import { HeadscopeError } from '../errors.ts'
import type { Model } from './model.ts'

export interface TwoTexts {
  readonly ids: readonly number[]
  /** The decoder's own ids; absent: its start token alone. */
  readonly decoder?: readonly number[]
}

/** Other models are given back as they are. Throws `bad-request` for prompts of several sources. Costs one encoder pass. */
export async function asOneText(
  model: Model,
  prompts: readonly TwoTexts[],
): Promise<{ readonly model: Model; readonly ids: readonly (readonly number[])[] }> {
  const { encoderDecoder } = model.spec
  if (!encoderDecoder || prompts.length === 0) return { model, ids: prompts.map(({ ids }) => ids) }
  const [source, ...others] = new Set(prompts.map(({ ids }) => ids.join()))
  if (others.length > 0)
    throw new HeadscopeError(
      'bad-request',
      `${model.name} reads a source with its encoder, and its decoder is looked at over one source at a time, but there are ${others.length + 1}; give every prompt the same source and its own decoder text.`,
    )
  return {
    model: await model.reading(source!.split(',').map(Number)),
    ids: prompts.map(({ decoder }) => decoder ?? [encoderDecoder.start]),
  }
}

/** Throws `bad-request` where a model has two texts and none was chosen. `what`: "Places in text". */
export function requireOneText({ name, spec }: Pick<Model, 'name' | 'spec'>, what: string): void {
  if (spec.encoderDecoder)
    throw new HeadscopeError(
      'bad-request',
      `${what} are of one text, and ${name} reads one with its encoder and another with its decoder; look at the decoder over one source: model.reading(source), or a prompt with a decoder text.`,
    )
}
