/**
 * The decoder of an encoder–decoder as a model of one stack, over one text of the encoder. In: a model and that text.
 * Out: a model whose prompts are the decoder's, whose hooks carry no prefix, and whose encoder has run already.
 */
import { HeadscopeError } from '../errors.ts'
import { matchHooks } from '../graph/hook-names.ts'
import { decoderOf, type ModelSpec } from '../graph/model-spec.ts'
import type { Dense } from './dense.ts'
import type { Engine } from './engine.ts'
import { generate } from './generate.ts'
import { gradients } from './gradients-of.ts'
import { hookedRun } from './hooked-run.ts'
import type { Model } from './model.ts'
import { runPass } from './pass.ts'
import { batchedIds, checkPrompts } from './prompts.ts'
import { listHooks } from './segments.ts'
import type { SessionMode } from './session.ts'
import type { Provenance } from './types.ts'

/** The view; closing it is closing the model. `provenance` is what the model knows about itself. */
export async function readingModel(
  model: Model,
  text: readonly number[],
  provenance: () => Omit<Provenance, 'capture' | 'edits'>,
): Promise<Model> {
  const { encoderDecoder, ...rest } = model.spec
  if (!encoderDecoder)
    throw new HeadscopeError(
      'bad-request',
      `Models of the family ${model.spec.family} have no encoder to read a text with; run them on the text itself.`,
    )
  const warnings = checkPrompts([text], model.spec, 'source')
  const spec: ModelSpec = { ...rest, stacks: [decoderOf(model.spec)] }
  const { encoder: _, ...family } = model.engine().model
  const alone = { ...family, spec, readsMemory: true } as const
  const hooks = listHooks(alone, model.engine().matrix)
  const { source } = await runPass(model.engine(), {
    source: { ids: [text], lengths: [text.length] },
    ids: [[encoderDecoder.start]],
    lengths: [1],
    start: 0,
    total: 1,
    wanted: new Set(),
    edits: [],
  })
  const view = (reads: NonNullable<Engine['reads']>): Model => {
    const engine = (mode?: SessionMode): Engine => ({
      ...model.engine(mode),
      model: alone,
      hooks,
      reads,
      whole: model.engine(mode),
    })
    const reader: Model = {
      ...model,
      spec,
      hooks,
      warnings: [...model.warnings, ...warnings],
      engine,
      captures: (globs) =>
        matchHooks(
          globs,
          hooks.map((hook) => hook.name),
        ),
      run(ids, options = {}) {
        return hookedRun(engine(), batchedIds(ids), options, provenance())
      },
      generate: (ids, options) => generate(engine(), ids, options),
      gradients: async (ids, options) => gradients(reader, batchedIds(ids), options),
      reading: (other) => model.reading(other),
      withMemory: (memory) => view({ ...reads, memory: sized(memory, reads.memory) }),
    }
    return reader
  }
  return view(source!)
}

// --- Internal helpers ---

/** What stands in the place of what the encoder handed over: as large. Throws `bad-request`. */
function sized(memory: Dense, known: Dense): Dense {
  if (memory.shape.join() === known.shape.join() && memory.data.length === known.data.length) return memory
  throw new HeadscopeError(
    'bad-request',
    `What the encoder handed over is ${known.shape.join(' × ')}, and what is given ${memory.shape.join(' × ')}; give as much.`,
  )
}
