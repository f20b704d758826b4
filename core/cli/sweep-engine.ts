/** The parts of the engine that a sweep command needs, in the shape in which the compute worker has them. */
import type { Engine } from '../api/compute/engine.ts'
import { cellKey, decoderOwn, intervene } from '../api/compute/intervene.ts'
import { specSummary } from '../api/spec-summary.ts'
import type { Model } from '../run/model.ts'

export const engineParts: {
  readonly engine: Pick<Engine<Model>, 'intervene' | 'summary'>
  readonly keyOf: typeof cellKey
  readonly decoderOwn: typeof decoderOwn
} = {
  engine: { intervene, summary: (model) => specSummary(model.spec) },
  keyOf: cellKey,
  decoderOwn,
}
