/** `headscope patch MODEL`: activation patching between two prompts, one place at a time. Costs a restarted run a cell. */
import type { PatchRequest } from '../../api/contract.ts'
import { PATCH_SITE_NAMES } from '../../intervene/patch-sites.ts'
import { command } from '../command.ts'
import {
  ENGINE_OPTIONS,
  METRIC_OPTIONS,
  MODEL_OPTIONS,
  PAIR_OPTIONS,
  STORE_OPTIONS,
  SWEEP_OPTIONS,
} from '../options.ts'

export const patch = command({
  name: 'patch',
  usage: 'MODEL --clean … --corrupt … [options]',
  summary: 'Activation patching: values of one prompt put into the run of another, place by place',
  detail:
    'denoise puts clean values into the corrupt run (is the place enough?), noise corrupt values into the clean run (is it needed?). normalized is (value - corrupt) / (clean - corrupt), never clipped. Prompts must have equal lengths.',
  examples: [
    'headscope patch induction-2l --clean-ids 0,5,9,7,5 --corrupt-ids 0,6,9,7,5 --answer-id 9 --wrong-id 7',
    'headscope patch ./my-model --clean "When Mary and John" --corrupt "When Anna and John" --site z --by layer,head --metric \'{"kind": "logit", "answer": " Mary"}\'',
    'headscope patch ./my-t5 --clean "green dark" --clean-decoder "by then" --corrupt-decoder "by now" --site cross_z --metric \'{"kind": "loss"}\'',
  ],
  options: {
    ...PAIR_OPTIONS,
    ...MODEL_OPTIONS,
    site: {
      type: 'text',
      value: 'SITE',
      choices: PATCH_SITE_NAMES,
      help: `resid_pre (default), attn_out, mlp_out, z, q, k, v or pattern; of a decoder that reads an encoder also ${PATCH_SITE_NAMES.filter((site) => site.startsWith('cross')).join(', ')}`,
    },
    by: {
      type: 'text',
      value: 'AXES',
      choices: ['layer,pos', 'layer,head'],
      help: 'layer,pos or layer,head (default: as the site has heads)',
    },
    direction: {
      type: 'text',
      value: 'WAY',
      choices: ['denoise', 'noise'],
      help: 'denoise (default) or noise',
    },
    ...METRIC_OPTIONS,
    ...SWEEP_OPTIONS,
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values } = call
    const { givenMetric, givenPair, runSweepCommand } = await import('../sweep-command.ts')
    return runSweepCommand(
      call,
      'patch',
      async (model): Promise<PatchRequest> => ({
        model,
        ...(await givenPair(values, 'patch')),
        site: (values.site as PatchRequest['site'] | undefined) ?? 'resid_pre',
        ...(values.by === undefined ? {} : { by: values.by as NonNullable<PatchRequest['by']> }),
        ...(values.direction === undefined ? {} : { direction: values.direction as 'denoise' | 'noise' }),
        metric: givenMetric(values),
      }),
    )
  },
})
