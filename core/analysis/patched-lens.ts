/**
 * One residual carried from one prompt into another, and what the model would then say at every block border. In: two
 * cells (prompt, position, border), which need not stand at the same place. Out: the lens of the second prompt with its
 * cell set to the first one's residual. Cells before the position or below the border cannot change; above them lies the
 * cone that the cell reaches. Cost: one forward of the first prompt, one of the second, and its unembeddings.
 */
import type { Model } from '../run/model.ts'
import type { Edit } from '../run/types.ts'
import { type Lens, type LensOptions, logitLens } from './lens.ts'
import type { Cell } from './residual-components.ts'
import { borderHook, residualAt, residualStream } from './residual-geometry.ts'

export interface PatchedLens extends Lens {
  /** |carried residual − the one that stood there|. */
  readonly distance: number
}

/** Throws `bad-request` for a position or a border that is not there, and what a run throws. */
export async function patchedLens(
  model: Model,
  from: Cell,
  to: Cell,
  options: Omit<LensOptions, 'edits'> = {},
): Promise<PatchedLens> {
  const { signal } = options
  const given = async ({ ids, border, pos, edits }: Cell) => {
    const stream = await residualStream(model, ids, {
      ...(edits ? { edits } : {}),
      ...(signal ? { signal } : {}),
    })
    return residualAt(stream, border, pos)
  }
  const carried = Float32Array.from(await given(from))
  const before = await given(to)
  let square = 0
  for (let d = 0; d < carried.length; d++) square += (carried[d]! - before[d]!) ** 2
  const edit: Edit = {
    hook: borderHook(model.spec, to.border),
    pos: to.pos,
    op: 'set',
    from: { values: carried, shape: [1, 1, carried.length] },
  }
  const lens = await logitLens(model, [to.ids], { ...options, edits: [...(to.edits ?? []), edit] })
  return { ...lens, distance: Math.sqrt(square) }
}
