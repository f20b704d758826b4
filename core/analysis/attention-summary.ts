/**
 * Rollout or flow of one prompt, from the model on. In: a prompt. Out: the numbers with their definition and caveats.
 * Cost: one forward with every pattern kept; rollout layers · T³, flow a maximum flow per position.
 */
import { HeadscopeError } from '../errors.ts'
import { parseHook } from '../graph/hook-names.ts'
import type { Model } from '../run/model.ts'
import { requireOneText } from '../run/one-text.ts'
import { FLOW, flow, type LayerPattern, ROLLOUT, rollout, rolloutRow } from './summaries.ts'

export interface AttentionSummaryOptions {
  readonly kind: 'rollout' | 'flow'
  /** Output position that is meant; negative counts from the end (default the last). */
  readonly pos?: number
  /** Of a rollout only the row of `pos`: one row of values, at a T-th of the cost. */
  readonly row?: boolean
  /** Leave position 0 out as a key and renormalise the rows. */
  readonly withoutFirst?: boolean
  readonly signal?: AbortSignal
}

export interface AttentionSummary {
  readonly kind: 'rollout' | 'flow'
  /** What it is, and what it leaves out. */
  readonly definition: string
  readonly length: number
  /** The output position, from 0: that of the flow; rollout has all. */
  readonly pos: number
  /** Rollout: [query, key] row by row, or one row. Flow: one value per input position. */
  readonly values: readonly number[]
  readonly warnings: readonly string[]
}

/** Flow costs a maximum flow per position: longer prompts take minutes. */
const LONGEST_FLOW = 128

/** Throws `bad-request` for a position outside the prompt, or a flow of more than 128 tokens. */
export async function attentionSummary(
  model: Model,
  ids: readonly number[],
  { kind, pos = -1, row = false, withoutFirst = false, signal }: AttentionSummaryOptions,
): Promise<AttentionSummary> {
  requireOneText(model, 'Rollout and flow')
  const { length } = ids
  if (kind === 'flow' && length > LONGEST_FLOW)
    throw new HeadscopeError(
      'bad-request',
      `The prompt has ${length} tokens, and a flow of more than ${LONGEST_FLOW} takes minutes; choose a shorter prompt, or rollout.`,
    )
  const at = pos < 0 ? length + pos : pos
  if (!(Number.isInteger(pos) && at >= 0 && at < length))
    throw new HeadscopeError('bad-request', `Position ${pos} is outside of this prompt of ${length} tokens.`)
  const patterns: LayerPattern[] = []
  const run = await model.run(ids, {
    capture: ['blocks.*.attn.hook_pattern'],
    top: 0,
    ...(signal ? { signal } : {}),
    onCapture: (hook, { data, shape }) => {
      patterns[parseHook(hook).layer!] = { heads: shape[1]!, data }
    },
  })
  const values =
    kind === 'rollout'
      ? row
        ? rolloutRow(patterns, length, at, { withoutFirst })
        : rollout(patterns, length, { withoutFirst })
      : flow(patterns, length, at, { withoutFirst })
  return {
    kind,
    definition: kind === 'rollout' ? ROLLOUT : FLOW,
    length,
    pos: at,
    values: [...values],
    warnings: run.warnings,
  }
}
