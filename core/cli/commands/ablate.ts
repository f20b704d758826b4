/** `headscope ablate MODEL PROMPTS`: what the metric loses without each head, MLP, layer or position. Costs a restarted run a cell. */
import type { AblateRequest } from '../../api/contract.ts'
import { command, UsageError } from '../command.ts'
import {
  DECODER_OPTIONS,
  ENGINE_OPTIONS,
  METRIC_OPTIONS,
  MODEL_OPTIONS,
  PROMPT_OPTIONS,
  STORE_OPTIONS,
  SWEEP_OPTIONS,
} from '../options.ts'

export const ablate = command({
  name: 'ablate',
  usage: 'MODEL PROMPTS [options]',
  summary: 'What a metric loses without each head, MLP, layer or position',
  detail:
    'delta is value - base. direct is what removing the head would do through its direct path to the logits alone: where the two differ, later parts repair or build on it. The workspace keeps the cells as they come.',
  examples: [
    'headscope ablate induction-2l --text "The cat sat. The cat" --over heads --metric \'{"kind": "loss"}\'',
    'headscope ablate induction-2l --ids 0,5,9,7,5 --kind zero --answer-id 9 --wrong-id 7 --json',
    'headscope ablate ./my-model --text "A B A" --kind mean --reference corpus.txt --mean-over all',
  ],
  options: {
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    ...MODEL_OPTIONS,
    over: {
      type: 'text',
      value: 'WHAT',
      choices: ['heads', 'cross_heads', 'mlps', 'layers', 'positions'],
      help: 'heads, cross_heads (of a decoder that reads an encoder), mlps, layers or positions (default heads)',
    },
    kind: {
      type: 'text',
      value: 'KIND',
      choices: ['zero', 'mean', 'resample'],
      help: 'zero, mean or resample (default zero)',
    },
    ...METRIC_OPTIONS,
    reference: { type: 'text', value: 'FILE', help: 'prompts of a mean, or the other prompt of resample' },
    'reference-text': { type: 'text', value: '"…"', multiple: true, help: 'the same as texts' },
    'reference-ids': { type: 'text', value: '5,9,2', multiple: true, help: 'the same as ids' },
    'mean-over': {
      type: 'text',
      value: 'all|pos',
      choices: ['all', 'pos'],
      help: 'mean over all positions (default), or position by position',
    },
    ...SWEEP_OPTIONS,
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values } = call
    if (values.resume === undefined) checkReference(values)
    const { decoderInput, givenMetric, onePrompt, runSweepCommand, references } = await import(
      '../sweep-command.ts'
    )
    return runSweepCommand(
      call,
      'ablate',
      async (model): Promise<AblateRequest> => ({
        model,
        prompt: { ...(await onePrompt(values, 'ablate')), ...(await decoderInput(values)) },
        over: (values.over as AblateRequest['over'] | undefined) ?? 'heads',
        kind: (values.kind as AblateRequest['kind'] | undefined) ?? 'zero',
        metric: givenMetric(values),
        ...(await references(values)),
        ...(values['mean-over'] === undefined ? {} : { meanOver: values['mean-over'] as 'all' | 'pos' }),
      }),
    )
  },
})

// --- Internal helpers ---

/** A mean and a resample need other prompts, and zero reads none. Throws UsageError. */
function checkReference(values: {
  readonly kind: string | undefined
  readonly reference: string | undefined
  readonly 'reference-text': readonly string[]
  readonly 'reference-ids': readonly string[]
  readonly 'mean-over': string | undefined
}): void {
  const { kind = 'zero', reference, 'reference-text': texts, 'reference-ids': lists } = values
  const given = reference !== undefined || texts.length > 0 || lists.length > 0
  if (kind !== 'mean' && values['mean-over'] !== undefined)
    throw new UsageError(`--mean-over is of --kind mean, and this is ${kind}`)
  if (kind === 'zero' && given)
    throw new UsageError('--kind zero reads no reference: leave it out, or choose --kind mean or resample')
  if (kind !== 'zero' && !given)
    throw new UsageError(
      `--kind ${kind} takes its values from other prompts: give --reference FILE, --reference-text or --reference-ids`,
    )
}
