/**
 * The direct effect of replacing heads' outputs: what changes on the straight way from z through the residual stream to
 * the logits, with every norm frozen at the unedited run. Beside the total effect it shows self-repair: what later
 * parts take back. Cost: one direct logit attribution, two where values replace z.
 */
import { directLogitAttribution } from '../analysis/dla.ts'
import type { Dense } from '../run/dense.ts'
import type { ResolvedMetric } from '../run/metrics.ts'
import type { Model } from '../run/model.ts'

/**
 * Change of the metric (before a final soft-cap) by `layer head`; null for metrics that are no logits, and where the
 * logits are no sum over the residual stream. `replaced`: the new z of a layer, [1, pos | 1, head, d_head]; null: zeros.
 */
export async function directEffects(
  model: Model,
  ids: readonly number[],
  metric: ResolvedMetric,
  replaced: ((layer: number) => Dense) | null,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, number> | null> {
  if (metric.kind !== 'logit' && metric.kind !== 'logit_diff') return null
  const headsOf = async (replace?: (layer: number) => Dense) => {
    const { components, why } = await directLogitAttribution(model, ids, {
      answer: metric.answer!,
      pos: metric.positions[0]!,
      ...(metric.wrong === null ? {} : { wrong: metric.wrong }),
      ...(replace ? { replace } : {}),
      ...(signal ? { signal } : {}),
    })
    return why === undefined ? components.filter((one) => one.head !== null) : null
  }
  const before = await headsOf()
  if (!before) return null
  const after = replaced ? await headsOf(replaced) : null
  return new Map(
    before.map(({ layer, head, value }, i) => [`${layer} ${head}`, (after?.[i]?.value ?? 0) - value]),
  )
}
