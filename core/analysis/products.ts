/**
 * Matrix products on the engine: large ones in TypeScript take minutes. In: dense arrays, or tensors of the checkpoint
 * that stay where they lie. Out: float32. Costs one session (2 ms) per kind of product, and the product.
 */
import { createBuilder, type Graph } from '../graph/builder.ts'
import { encode } from '../graph/encode.ts'
import type { Dense } from '../run/dense.ts'
import type { Engine } from '../run/engine.ts'
import { asFloats, type FetchedTensor } from '../run/session.ts'

/** a [n, i, j] · b [n, j, k] → [n, i, k]; an axis n of size 1 broadcasts. */
export async function multiply(engine: Engine, a: Dense, b: Dense): Promise<Dense> {
  const axes = ['batch', 'pos', 'd_model'] as const
  const build = () => {
    const g = createBuilder('')
    g.result('product', g.op('MatMul', [g.input('a', 'f32', axes), g.input('b', 'f32', axes)], axes))
    return g.finish()
  }
  const feeds = new Map([
    ['a', a],
    ['b', b],
  ])
  return asFloats((await run(engine, 'product', build, ['product'], feeds)).get('product')!)
}

/** Aᵀ B of two tensors of the checkpoint with equally many rows: [rows, i], [rows, j] → [i, j]. */
export async function crossProduct(engine: Engine, a: string, b: string): Promise<Dense> {
  const axes = ['d_vocab', 'd_model'] as const
  const build = () => {
    const g = createBuilder('')
    const product = g.op('FusedMatMul', [g.weight(a, axes), g.weight(b, axes)], ['d_model', 'd_model'], {
      domain: 'com.microsoft',
      attributes: { transA: 1n, transB: 0n, alpha: 1 },
    })
    g.result('product', product)
    return g.finish()
  }
  return asFloats((await run(engine, `cross ${a} ${b}`, build, ['product'], new Map())).get('product')!)
}

/** x [1, n, d_model] against the rows of a tensor [rows, d_model]: the `count` largest products and where they are. */
export async function largestProducts(
  engine: Engine,
  x: Dense,
  tensor: string,
  count: number,
): Promise<{ values: Float32Array; rows: BigInt64Array }> {
  const build = () => {
    const g = createBuilder('')
    const out = ['batch', 'pos', 'd_vocab'] as const
    const input = g.input('x', 'f32', ['batch', 'pos', 'd_model'])
    const products = g.op('FusedMatMul', [input, g.weight(tensor, ['d_vocab', 'd_model'])], out, {
      domain: 'com.microsoft',
      attributes: { transA: 0n, transB: 1n, alpha: 1 },
    })
    const [values, rows] = g.ops('TopK', [products, g.ints([count])], [out, out], {
      attributes: { axis: -1n, largest: 1n, sorted: 1n },
    }) as [ReturnType<typeof g.input>, ReturnType<typeof g.input>]
    g.result('top_logits', values)
    g.result('top_ids', rows)
    return g.finish()
  }
  const outputs = await run(
    engine,
    `largest ${count} ${tensor}`,
    build,
    ['top_logits', 'top_ids'],
    new Map([['x', x]]),
  )
  return {
    values: asFloats(outputs.get('top_logits')!).data,
    rows: outputs.get('top_ids')!.data as BigInt64Array,
  }
}

// --- Internal helpers ---

function run(
  engine: Engine,
  key: string,
  build: () => Graph,
  outputs: readonly string[],
  feeds: ReadonlyMap<string, Dense>,
): Promise<Map<string, FetchedTensor>> {
  return engine.pool.run(key, () => encode(build(), outputs, engine.weights), feeds)
}
