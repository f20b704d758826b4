/** What the identities measure with. A test puts a broken probe in its place and sees the check fail. */
import { decoderOf } from '../../graph/model-spec.ts'
import type { Tensor } from '../../graph/tensor.ts'
import type { Model } from '../../run/model.ts'
import { runPass } from '../../run/pass.ts'
import { logitsOf } from '../../run/predictions.ts'
import { baseRun, restart } from '../../run/restart.ts'
import { type Dla, directLogitAttribution } from '../dla.ts'
import { type BlockGradients, backTo, blocksGradients } from '../first-principles/gradients.ts'
import { logitLens } from '../lens.ts'

export interface Probe {
  readonly model: Model
  /** Every hook of one run, and the logits. */
  capture(ids: readonly number[]): Promise<ReadonlyMap<string, Tensor>>
  /** Logits of every position, the last `decoded` of them one by one on the cache. [pos, d_vocab] */
  decoded(ids: readonly number[], decoded: number): Promise<Float32Array>
  /** Patterns of every layer with all positions moved by `shift`, by hook. */
  shifted(ids: readonly number[], shift: number): Promise<ReadonlyMap<string, Float32Array>>
  /** Logits of the lens's last row, every position. [pos, d_vocab] */
  lens(ids: readonly number[]): Promise<Float32Array>
  /** Direct logit attribution of one token at the last position; `why` where there is none. */
  attributed(ids: readonly number[], answer: number): Promise<Dla>
  /** Gradients of the mean loss inside every block. */
  gradients(ids: readonly number[]): Promise<BlockGradients[]>
  /** A gradient at a hook of a block, carried back to the residual that enters it. */
  carriedBack(block: BlockGradients, hook: string): Promise<Float32Array>
  /** The last residual of rows pos … T - 1, from a restart at (layer, pos). */
  restarted(ids: readonly number[], layer: number, pos: number): Promise<Float32Array>
}

/** The probe of a model. Where a decoder reads an encoder, the ids are the decoder's, and the encoder reads one text. */
export function probeOf(model: Model, signal?: AbortSignal): Probe {
  const engine = model.engine()
  const { encoderDecoder } = model.spec
  const text = encoderDecoder && Array.from({ length: 9 }, (_, i) => (7 * i + 3) % encoderDecoder.sourceVocab)
  const stop = signal ? { signal } : {}
  const source = text && { source: { ids: [text], lengths: [text.length] } }
  return {
    model,
    async capture(ids) {
      const options = { capture: ['*', 'logits'], top: 0, ...stop }
      const run = await (text ? model.run(text, { ...options, decoderIds: [ids] }) : model.run(ids, options))
      return new Map(run.captured.map((name) => [name, run.get(name)]))
    },
    async decoded(ids, count) {
      const parts: Float32Array[] = []
      let past: Awaited<ReturnType<typeof runPass>>['keyValues'] = []
      for (let start = 0; start < ids.length; ) {
        const end = start === 0 ? ids.length - count : start + 1
        const { state, keyValues } = await runPass(engine, {
          ...source,
          ids: [ids.slice(start, end)],
          lengths: [end],
          start,
          total: end,
          past,
          wanted: new Set(),
          edits: [],
          keepKeyValues: true,
          signal,
        })
        past = keyValues
        parts.push((await logitsOf(engine, state.get('resid')!, start, [])).data)
        start = end
      }
      return joined(parts)
    },
    async shifted(ids, shift) {
      const patterns = new Map<string, Float32Array>()
      const hooks = model.hooks.filter((hook) => hook.name.endsWith('attn.hook_pattern'))
      await runPass(engine, {
        ...source,
        ids: [ids],
        lengths: [ids.length],
        start: 0,
        total: ids.length,
        shift,
        wanted: new Set(hooks.map((hook) => hook.name)),
        edits: [],
        signal,
        onTensor: (hook, tensor) => {
          patterns.set(hook.name, tensor.data)
        },
      })
      return patterns
    },
    async lens(ids) {
      let last: Float32Array | null = null
      const layers = [decoderOf(model.spec).layers.length]
      await logitLens(model, text ? [text] : [ids], {
        layers,
        top: 1,
        ...stop,
        ...(text ? { decoderIds: [ids] } : {}),
        onLogits: (_, logits) => {
          last = logits.data
        },
      })
      return last!
    },
    attributed: async (ids, answer) =>
      directLogitAttribution(text ? await model.reading(text) : model, ids, { answer }),
    gradients: (ids) =>
      blocksGradients(
        model,
        ids,
        decoderOf(model.spec).layers.map((_, layer) => layer),
        { kind: 'loss' },
      ),
    carriedBack: async (block, hook) => (await backTo(model, block, hook, block.grads.get(hook)!)).data,
    async restarted(ids, layer, pos) {
      const base = text ? await baseRun(engine, [text], undefined, [ids]) : await baseRun(engine, [ids])
      return (await restart(engine, base, { layer, pos, edits: [] })).get('resid')!.data
    },
  }
}

// --- Internal helpers ---

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
