/** `headscope path MODEL`: path patching, what a sender says to one receiver alone. Costs a held run a sender and a restart a receiver. */
import type { PathRequest } from '../../api/contract.ts'
import type { PathPlan } from '../../intervene/path.ts'
import { command, UsageError } from '../command.ts'
import {
  ENGINE_OPTIONS,
  METRIC_OPTIONS,
  MODEL_OPTIONS,
  PAIR_OPTIONS,
  STORE_OPTIONS,
  SWEEP_OPTIONS,
} from '../options.ts'

export const path = command({
  name: 'path',
  usage: 'MODEL --clean … --corrupt … --from … --to … [options]',
  summary: 'Path patching: what each sender says to each receiver alone',
  detail:
    'A sender is a head (L5H1), an MLP (L3.mlp) or the embedding (embed), all is every one that reaches a receiver; a receiver is a head’s q, k or v (L7H2.k), an MLP (L7.mlp) or logits. --from and --to measure every sender with every receiver, --edges the edges of a circuit. delta is from the clean run.',
  examples: [
    'headscope path induction-2l --clean-ids 0,5,9,7,5 --corrupt-ids 0,6,9,7,5 --from L0H1,L0H2 --to L1H3.q,L1H3.k,L1H3.v,logits --answer-id 9 --wrong-id 7',
    'headscope path induction-2l --clean-ids 0,5,9,7,5 --corrupt-ids 0,6,9,7,5 --from all --to L1H3.k --answer-id 9 --wrong-id 7',
    'headscope path induction-2l --clean-ids 0,5,9,7,5 --corrupt-ids 0,6,9,7,5 --edges L0H2:L1H3.k,L1H3:logits --answer-id 9 --wrong-id 7',
  ],
  options: {
    ...PAIR_OPTIONS,
    ...MODEL_OPTIONS,
    from: { type: 'text', value: 'L5H1,L3.mlp', multiple: true, help: 'senders; all: every one' },
    to: { type: 'text', value: 'L7H2.k,logits', multiple: true, help: 'receivers' },
    edges: {
      type: 'text',
      value: 'L0H2:L1H3.k',
      multiple: true,
      help: 'edges of a circuit, in place of --from and --to',
    },
    mlps: {
      type: 'text',
      value: 'HOW',
      choices: ['freeze', 'recompute'],
      help: 'MLPs between: freeze, or recompute (default)',
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
      'path',
      async (model): Promise<PathRequest> => ({
        model,
        ...(await givenPair(values, 'path')),
        ...planOf(values),
        ...(values.mlps === undefined ? {} : { mlps: values.mlps as 'freeze' | 'recompute' }),
        metric: givenMetric(values),
      }),
    )
  },
})

// --- Internal helpers ---

function planOf(values: {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly edges: readonly string[]
}): PathPlan {
  if (values.edges.length === 0)
    return {
      from: names(values.from, 'from', 'senders, e.g. --from L0H1,L1.mlp, or --edges L0H1:L1H3.k'),
      to: names(values.to, 'to', 'receivers, e.g. --to L1H3.k,logits'),
    }
  if (values.from.length + values.to.length > 0)
    throw new UsageError('--edges names senders and receivers; give it, or --from and --to')
  const edges = names(values.edges, 'edges', 'a sender and a receiver, e.g. --edges L0H1:L1H3.k')
  return {
    edges: edges.map((edge) => {
      const [from, to, ...more] = edge.split(':')
      if (!from || !to || more.length > 0)
        throw new UsageError(`--edges holds ${JSON.stringify(edge)}; write an edge as L0H1:L1H3.k`)
      return { from, to }
    }),
  }
}

function names(given: readonly string[], option: string, what: string): string[] {
  const all = given.flatMap((one) => one.split(',')).map((one) => one.trim())
  const found = all.filter((one) => one !== '')
  if (found.length === 0) throw new UsageError(`path needs --${option}: ${what}`)
  return found
}
