/**
 * Sweeps of interventions as the API and the command line ask for them. In: a request of contract.ts with its prompts
 * as ids. Out: cells as they come, and the result. One function calls the four of core/intervene.
 */
import { ablate } from '../../intervene/ablate.ts'
import { attribute } from '../../intervene/attribute.ts'
import { cellKey } from '../../intervene/cell-key.ts'
import { patch } from '../../intervene/patch.ts'
import { pathPatch } from '../../intervene/path.ts'
import { decoderPrompt } from '../../run/decoder-prompt.ts'
import type { Model } from '../../run/model.ts'
import type {
  AblateRequest,
  AttributeRequest,
  ExperimentKind,
  Experiments,
  PatchRequest,
  PathRequest,
  PromptInput,
} from '../contract.ts'
import type { InterveneOptions } from './engine.ts'

/** Runs a sweep. Throws what the sweep throws. */
export async function intervene<K extends ExperimentKind>(
  whole: Model,
  kind: K,
  request: Experiments[K]['request'],
  options: InterveneOptions,
): Promise<Experiments[K]['result']> {
  const { model, corruptModel, ids, reference } = await oneStack(whole, request, options)
  const [first, second] = ids as [readonly number[], readonly number[]]
  const common = {
    signal: options.signal,
    onProgress: options.onProgress,
    onEstimate: options.onEstimate,
    onCells: options.onCells,
    known: options.known as never,
  }
  const pair = { ...common, ...(corruptModel ? { corruptModel } : {}) }
  switch (kind) {
    case 'ablate': {
      const { over, kind: how, metric, meanOver } = request as AblateRequest
      return ablate(model, first, {
        ...common,
        over,
        kind: how,
        metric,
        reference,
        ...(meanOver ? { meanOver } : {}),
      })
    }
    case 'patch': {
      const { site, by, direction, metric } = request as PatchRequest
      return patch(model, first, second, {
        ...pair,
        site,
        metric,
        ...(by ? { by } : {}),
        ...(direction ? { direction } : {}),
      })
    }
    case 'path': {
      const { from, to, edges, metric, mlps } = request as PathRequest
      const plan = edges ? { edges } : { from, to }
      return pathPatch(model, first, second, { ...pair, ...plan, metric, ...(mlps ? { mlps } : {}) })
    }
    default: {
      const { metric, sites, verify, gradDrop } = request as AttributeRequest
      return attribute(model, first, second, {
        ...pair,
        metric,
        ...(sites ? { sites } : {}),
        ...(verify ? { verify } : {}),
        ...(gradDrop ? { gradDrop } : {}),
      })
    }
  }
}

/**
 * The stack that a sweep goes over. Where a decoder reads an encoder it is the decoder, over the encoder's text of each
 * prompt, and the prompts are the decoder's own. Throws `bad-prompt` for a decoder's text where there is none.
 */
async function oneStack(
  model: Model,
  request: Experiments[ExperimentKind]['request'],
  options: InterveneOptions,
): Promise<{
  readonly model: Model
  /** Over the corrupt prompt's source, where that is another. */
  readonly corruptModel?: Model
  readonly ids: readonly (readonly number[])[]
  readonly reference: readonly (readonly number[])[]
}> {
  const { ids, reference } = options
  const prompts = 'prompt' in request ? [request.prompt] : [request.clean, request.corrupt]
  if (!model.spec.encoderDecoder) {
    for (const prompt of prompts) decoderOwn(model, prompt) // says that there is none to give a text to
    return { model, ids, reference }
  }
  const [text, other] = ids
  const own = (prompt: PromptInput) => decoderOwn(model, prompt)!
  const given = 'reference' in request ? (request.reference ?? []) : []
  return {
    model: await model.reading(text!),
    ...(other && other.join() !== text!.join() ? { corruptModel: await model.reading(other) } : {}),
    ids: prompts.map(own),
    // What stands behind a mean or a resampling is the decoder's own, over the prompt's source.
    reference: given.map(({ decoder, ids: listed, text = '' }) =>
      decoder ? own({ decoder }) : listed ? [...listed] : decoderPrompt(model, text),
    ),
  }
}

/** The decoder's own ids of a prompt; null where the model has one text. Throws `bad-prompt` where there is none to give. */
export function decoderOwn(model: Model, { decoder }: PromptInput): number[] | null {
  if (!model.spec.encoderDecoder && !decoder) return null
  return decoder?.ids && model.spec.encoderDecoder
    ? [...decoder.ids]
    : decoderPrompt(model, decoder?.text ?? '')
}

export { cellKey }
