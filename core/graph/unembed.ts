/**
 * The end of the model: final norm, unembedding, and the reductions that are asked for, so that full logits leave the
 * graph only when somebody wants them.
 *
 * Hooks: ln_final.hook_scale, ln_final.hook_normalized, unembed.hook_in [batch, pos, d_model],
 * unembed.hook_out [batch, pos, d_vocab]. Results: `probs` [batch, pos, d_vocab], `log_sum_exp` [batch, pos],
 * `top_logits` and `top_ids` [batch, pos, k] (ties to the lowest id), `target_logit` [batch, pos, one] for the input
 * `targets` [batch, pos, one].
 */
import type { Builder, Value } from './builder.ts'
import { UNEMBED_OUT } from './hook-names.ts'
import { type LinearWeights, linear } from './linear.ts'
import type { ModelSpec } from './model-spec.ts'
import { scaled, softCapped } from './scale.ts'

const OUT = ['batch', 'pos', 'd_vocab'] as const

/** normed [batch, pos, d_model] → logits: product and bias, then the model's scale, then its cap. */
export function unembed(g: Builder, spec: ModelSpec, normed: Value, weights: LinearWeights): Value {
  const input = g.hook('unembed.hook_in', normed)
  const product = scaled(g, linear(g, input, weights, 'd_vocab'), spec.logits.scale)
  const logits = g.hook(UNEMBED_OUT, softCapped(g, product, spec.logits.softcap))
  reductions(g, logits)
  return logits
}

// --- Internal helpers ---

function reductions(g: Builder, logits: Value): void {
  const row = ['batch', 'pos'] as const
  const probs = g.op('Softmax', [logits], OUT, { attributes: { axis: -1n } })
  g.result('probs', probs)
  // The largest probability is e^(largest logit - log Σ e^logit). ReduceLogSumExp costs five times as much, and is 30
  // times less exact.
  const largest = (of: Value) => g.op('ReduceMax', [of, g.ints([-1])], row, { attributes: { keepdims: 0n } })
  g.result('log_sum_exp', g.op('Sub', [largest(logits), g.op('Log', [largest(probs)], row)], row))
  const count = g.input('top_count', 'i64', ['one'])
  const [topLogits, topIds] = g.ops('TopK', [logits, count], [OUT, OUT], {
    attributes: { axis: -1n, largest: 1n, sorted: 1n },
  }) as [Value, Value]
  g.result('top_logits', topLogits)
  g.result('top_ids', topIds)
  const targets = g.input('targets', 'i64', ['batch', 'pos', 'one'])
  g.result(
    'target_logit',
    g.op('GatherElements', [logits, targets], ['batch', 'pos', 'one'], { attributes: { axis: -1n } }),
  )
}
