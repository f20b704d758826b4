/** Where a run first stops being finite. Costs a scan of the last residual; a second pass only when that finds one. */
import { parseHook } from '../graph/hook-names.ts'
import type { Tensor } from '../graph/tensor.ts'
import type { Dense } from './dense.ts'
import type { Engine } from './engine.ts'
import { type Pass, runPass } from './pass.ts'
import type { HookInfo } from './segments.ts'

/** One sentence naming the layer and hook of the first NaN or infinity, or null when the residual is finite. */
export async function firstNonFinite(
  engine: Engine,
  resid: Dense,
  pass: Pick<Pass, 'ids' | 'source' | 'tokenTypes' | 'lengths' | 'edits' | 'total'>,
): Promise<string | null> {
  if (allFinite(resid.data)) return null
  let found: { hook: HookInfo; kind: string } | null = null
  const wanted = new Set(engine.hooks.filter((hook) => hook.segment !== 'unembed').map((hook) => hook.name))
  await runPass(engine, {
    ...pass,
    start: 0,
    wanted,
    onTensor(hook: HookInfo, tensor: Tensor) {
      if (found) return
      const kind = brokenKind(tensor.data, hook.name.endsWith('hook_attn_scores'))
      if (kind) found = { hook, kind }
    },
  })
  if (!found)
    return 'The last residual is not finite (NaN or Inf); logits and probabilities of this run do not exist.'
  const { hook, kind } = found as { hook: HookInfo; kind: string }
  const { layer } = parseHook(hook.name)
  const place = layer === null ? '' : `layer ${layer}, `
  return `The first value that is not finite (${kind}) appears in ${place}${hook.name}; what follows from it does not exist.`
}

/** Whether every number is finite. */
export function allFinite(data: Float32Array): boolean {
  for (let i = 0; i < data.length; i++) if (data[i]! - data[i]! !== 0) return false
  return true
}

// --- Internal helpers ---

/** Masked scores are -∞ by definition; anything else that is not finite is broken. */
function brokenKind(data: Float32Array, scores: boolean): string | null {
  for (const value of data) {
    if (Number.isNaN(value)) return 'NaN'
    if (value === Number.POSITIVE_INFINITY) return 'Inf'
    if (value === Number.NEGATIVE_INFINITY && !scores) return '-Inf'
  }
  return null
}
