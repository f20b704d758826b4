/**
 * The same checkpoint as one ONNX Runtime session, without any hook: what a bare forward costs. Kept for benchmarks
 * only; it is made of the same family pages.
 */
import { InferenceSession, Tensor } from 'onnxruntime-node'
import type { BlockState } from '../../core/families/family.ts'
import { createBuilder } from '../../core/graph/builder.ts'
import { encode } from '../../core/graph/encode.ts'
import { decoderOf } from '../../core/graph/model-spec.ts'
import type { Model } from '../../core/index.ts'
import { attentionBias } from '../../core/run/attention-bias.ts'
import { ropeTable } from '../../core/run/rope-tables.ts'

/** `run(ids)` gives the logits [1, pos, d_vocab]. */
export async function wholeModel(
  model: Model,
  threads: number,
  prepack: boolean,
  level: 'basic' | 'all' = 'all',
) {
  const engine = model.engine()
  const g = createBuilder('')
  let state: BlockState = engine.model.embed(g)
  const { layers } = decoderOf(model.spec)
  for (let layer = 0; layer < layers.length; layer++) state = engine.model.block(g, layer, state)
  g.result('logits', engine.model.unembed(g, state.resid, engine.matrix))
  const { bytes, inputs } = encode(g.finish(), ['logits'], engine.weights)
  const session = await InferenceSession.create(bytes, {
    graphOptimizationLevel: level,
    enableCpuMemArena: false,
    intraOpNumThreads: threads,
    logSeverityLevel: 4,
    extra: {
      session: {
        model_external_initializers_file_folder_path: engine.weights.folder,
        ...(prepack ? {} : { disable_prepacking: '1' }),
      },
    },
  })
  return {
    async run(ids: readonly number[]): Promise<Float32Array> {
      const rows = ids.length
      const bias = attentionBias({ causal: true, window: null, start: 0, rows, keys: rows, lengths: [rows] })
      const layer = layers[0]!
      const none = new Tensor('float32', new Float32Array(0), [1, layer.nKvHeads, 0, layer.dHead])
      const feeds: Record<string, Tensor> = {
        ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, rows]),
        positions: new Tensor(
          'int64',
          BigInt64Array.from(ids, (_, i) => BigInt(i)),
          [1, rows],
        ),
        bias: new Tensor('float32', bias.data, bias.shape),
        past_k: none,
        past_v: none,
      }
      model.spec.ropes.forEach((rope, i) => {
        const table = ropeTable(rope, 0, rows, rows)
        for (const part of ['cos', 'sin'] as const)
          feeds[`${part}.${i}`] = new Tensor('float32', table[part], [1, rows, rope.dims / 2])
      })
      const needed = Object.fromEntries(inputs.map((name) => [name, feeds[name]!]))
      return (await session.run(needed)).logits!.data as Float32Array
    },
    close: () => session.release(),
  }
}
