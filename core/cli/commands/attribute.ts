/** `headscope attribute MODEL`: attribution patching, estimates for all places from one gradient. Costs about three forwards. */
import type { AttributeRequest } from '../../api/contract.ts'
import { command, UsageError } from '../command.ts'
import {
  ENGINE_OPTIONS,
  METRIC_OPTIONS,
  MODEL_OPTIONS,
  PAIR_OPTIONS,
  STORE_OPTIONS,
  SWEEP_OPTIONS,
} from '../options.ts'

const SITES = ['z', 'mlp_out', 'q', 'k', 'v'] as const

export const attribute = command({
  name: 'attribute',
  usage: 'MODEL --clean … --corrupt … [options]',
  summary: 'Attribution patching: an estimate of patching every head, position and MLP from one gradient',
  detail:
    'estimate is the change of the metric from the corrupt run towards the clean one. It is a filter, not a result: --verify K repeats the K largest exactly.',
  examples: [
    'headscope attribute induction-2l --clean-ids 0,5,9,7,5 --corrupt-ids 0,6,9,7,5 --answer-id 9 --wrong-id 7 --verify 20',
  ],
  options: {
    ...PAIR_OPTIONS,
    ...MODEL_OPTIONS,
    sites: { type: 'text', value: 'NAMES', help: `with commas, of ${SITES.join(', ')} (default z,mlp_out)` },
    verify: { type: 'whole', value: 'K', help: 'exact runs for the K largest' },
    'grad-drop': { type: 'flag', help: 'also average over passes with one layer left out (AtP*)' },
    ...METRIC_OPTIONS,
    ...SWEEP_OPTIONS,
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values } = call
    const { givenMetric, givenPair, runSweepCommand } = await import('../sweep-command.ts')
    if (values.verify !== undefined && values.verify < 1)
      throw new UsageError(`--verify is ${values.verify}, but must be 1 or more`)
    return runSweepCommand(
      call,
      'attribute',
      async (model): Promise<AttributeRequest> => ({
        model,
        ...(await givenPair(values, 'attribute')),
        ...(values.sites === undefined ? {} : { sites: sitesIn(values.sites) }),
        ...(values.verify === undefined ? {} : { verify: values.verify }),
        ...(values['grad-drop'] ? { gradDrop: true } : {}),
        metric: givenMetric(values),
      }),
    )
  },
})

// --- Internal helpers ---

function sitesIn(text: string): NonNullable<AttributeRequest['sites']> {
  return text.split(',').map((name) => {
    const site = SITES.find((one) => one === name.trim())
    if (!site) throw new UsageError(`--sites is of ${SITES.join(', ')}, not ${JSON.stringify(name)}`)
    return site
  })
}
