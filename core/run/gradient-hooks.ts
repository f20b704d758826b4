/** Gradients of hooks: which of them must lie on the path, and how they are handed out. */
import { gradName } from '../graph/gradients.ts'
import { sizeOf } from '../graph/tensor.ts'
import type { Dense } from './dense.ts'
import type { HookInfo } from './segments.ts'
import { asFloats, type FetchedTensor } from './session.ts'

/** Takes the gradient of a hook. */
export type Keep = (hook: HookInfo, dense: Dense) => Promise<void>

/** Hooks beside the path: an edit or a gradient puts them onto it. */
const BESIDE = /(hook_scale|hook_normalized|hook_result)$/

/** Wanted hooks below `prefix` that lie beside the path. */
export function onPath(wanted: ReadonlySet<string>, prefix: string): string[] {
  return [...wanted].filter((name) => name.startsWith(prefix) && BESIDE.test(name)).sort()
}

/** Gradients of hooks as they came; 0 where the metric does not depend on a hook. */
export async function handOut(
  hooks: readonly HookInfo[],
  outputs: ReadonlyMap<string, FetchedTensor>,
  keep: Keep,
  rows: ReadonlyMap<string, Dense>,
  memory?: Dense,
): Promise<void> {
  const [batch, pos] = [...rows.values()][0]!.shape as [number, number]
  for (const hook of hooks) {
    const grad = outputs.get(gradName(hook.name))
    await keep(hook, grad ? asFloats(grad) : zeros(hook, batch, pos, memory?.shape[1]))
  }
}

/** No gradient at all, in a hook's shape. */
export function zeros(hook: HookInfo, batch: number, pos: number, source = pos): Dense {
  const shape = hook.shape.map((size) => {
    if (typeof size === 'number') return size
    if (size === 'source') return source
    return size === 'batch' ? batch : pos
  })
  return { data: new Float32Array(sizeOf(shape)), shape }
}
