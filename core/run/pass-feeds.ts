/** Inputs of a pass's graphs that do not depend on the computation: tokens, bias, rotary tables, key positions. */
import { KEY_POSITIONS } from '../graph/alibi.ts'
import { CROSS_BIAS } from '../graph/cross-attention.ts'
import { SINUSOIDS } from '../graph/embed.ts'
import type { LayerSpec } from '../graph/model-spec.ts'
import { RELATIVE_KEY, RELATIVE_QUERY } from '../graph/relative-bias.ts'
import { ropeInputs } from '../graph/rotary.ts'
import { attentionBias, sourceBias } from './attention-bias.ts'
import type { Window } from './dense.ts'
import type { Engine } from './engine.ts'
import type { Pass } from './pass.ts'
import { ropeTable } from './rope-tables.ts'
import { lastStage, type Stage } from './segments.ts'
import type { Feed } from './session.ts'
import { sinusoidTable } from './sinusoid-tables.ts'

export interface PassFeeds {
  /** Inputs of the embedding. */
  tokens(): Map<string, Feed>
  /** Inputs of a block for a window of rows, made once per window. */
  block(layer: LayerSpec, window: Window): Map<string, Feed>
}

/** The feeds of one pass over a stack; the last one unless said. */
export function createPassFeeds(
  engine: Engine,
  pass: Pick<Pass, 'ids' | 'lengths' | 'start' | 'total' | 'shift' | 'tokenTypes' | 'source'>,
  { stack }: Pick<Stage, 'stack'> = lastStage(engine.model),
): PassFeeds {
  const { spec } = engine.model
  const { ids, shift = 0 } = pass
  const cache = new Map<string, Feed>()
  const cached = (key: string, make: () => Feed): Feed => {
    const found = cache.get(key) ?? make()
    cache.set(key, found)
    return found
  }

  function rope(index: number, part: 'cos' | 'sin', window: Window): Feed {
    const table = ropeTable(spec.ropes[index]!, window.start + shift, window.rows, pass.total + shift)[part]
    const data = new Float32Array(ids.length * table.length)
    for (let item = 0; item < ids.length; item++) data.set(table, item * table.length)
    return { data, shape: [ids.length, window.rows, table.length / window.rows] }
  }

  return {
    tokens() {
      const rows = ids[0]!.length
      const shape = [ids.length, rows]
      const types = pass.tokenTypes
        ? BigInt64Array.from(pass.tokenTypes.flat(), BigInt)
        : new BigInt64Array(ids.length * rows)
      const positions = ids.flatMap((row) => row.map((_, i) => BigInt(pass.start + shift + i)))
      return new Map<string, Feed>([
        ['ids', { data: BigInt64Array.from(ids.flat(), BigInt), shape }],
        ['token_types', { data: types, shape }],
        ['positions', { data: BigInt64Array.from(positions), shape }],
        ...(spec.positional === 'sinusoidal'
          ? [[SINUSOIDS, sinusoidTable(pass.start + shift, rows, spec.dModel)] as const]
          : []),
      ])
    },
    block(layer, window) {
      const key = `${window.start} ${window.rows}`
      const bias = cached(`bias ${layer.window} ${key}`, () =>
        attentionBias({
          causal: stack.causal,
          window: layer.window,
          lengths: pass.lengths,
          ...window,
        }),
      )
      const feeds = new Map<string, Feed>([['bias', bias]])
      if (pass.source)
        feeds.set(
          CROSS_BIAS,
          cached(CROSS_BIAS, () => sourceBias(pass.source!.lengths)),
        )
      if (stack.relative) {
        const range = (first: number, count: number): Feed => ({
          data: BigInt64Array.from({ length: count }, (_, i) => BigInt(first + shift + i)),
          shape: [count],
        })
        feeds.set(
          RELATIVE_QUERY,
          cached(`from ${key}`, () => range(window.start, window.rows)),
        )
        feeds.set(
          RELATIVE_KEY,
          cached(`to ${window.keys}`, () => range(0, window.keys)),
        )
      }
      if (layer.alibi)
        feeds.set(
          KEY_POSITIONS,
          cached(`keys ${window.keys}`, () => ({
            data: Float32Array.from({ length: window.keys }, (_, position) => position + shift),
            shape: [1, 1, 1, window.keys],
          })),
        )
      if (layer.rope !== null)
        for (const part of ['cos', 'sin'] as const)
          feeds.set(
            ropeInputs(layer.rope)[part],
            cached(`${part} ${layer.rope} ${key}`, () => rope(layer.rope!, part, window)),
          )
      return feeds
    },
  }
}
