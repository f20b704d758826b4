/**
 * A mixture of experts in place of the MLP: a router chooses experts for each token, each expert computes only the
 * rows that chose it, and the results are added with the router's weights. Cost: the used share of all experts.
 *
 * Hooks: mlp.hook_router_logits [batch, pos, expert]; mlp.hook_expert_indices [batch, pos, choice], best first, equal
 * ones by lowest number, as float32; mlp.hook_expert_weights [batch, pos, expert], what each expert's output is
 * multiplied by, 0 where it is not used.
 */
import type { Builder, Value } from './builder.ts'
import { type LinearWeights, linear } from './linear.ts'
import { activation } from './mlp.ts'
import type { Activation, ExpertsSpec } from './model-spec.ts'

export interface GatedWeights {
  readonly gate: LinearWeights
  readonly up: LinearWeights
  readonly out: LinearWeights
}

export interface ExpertWeights {
  readonly router: LinearWeights
  expert(index: number): GatedWeights
  /** The expert of every token, and the one row that opens it. */
  readonly shared?: GatedWeights & { readonly open: LinearWeights }
}

const EXPERTS = ['batch', 'pos', 'expert'] as const
const CHOICES = ['batch', 'pos', 'choice'] as const
const TOKENS = ['pos', 'd_model'] as const // all tokens of the batch, one after the other
const FLOAT = 1n
const INT64 = 7n

/** x [batch, pos, d_model] → [batch, pos, d_model]. */
export function experts(
  g: Builder,
  x: Value,
  dModel: number,
  act: Activation,
  spec: ExpertsSpec,
  weights: ExpertWeights,
): Value {
  const chosen = route(g, x, spec, weights.router) // [batch, pos, expert]
  const tokens = g.op('Reshape', [x, g.ints([-1, dModel])], TOKENS)
  const shares = g.ops(
    'Split',
    [
      g.op('Reshape', [chosen, g.ints([-1, spec.count])], ['pos', 'expert']),
      g.ints(new Array(spec.count).fill(1)),
    ],
    new Array(spec.count).fill(['pos', 'one']),
    { attributes: { axis: 1n } },
  )
  let sum = g.op('ConstantOfShape', [g.op('Shape', [tokens], ['one'])], TOKENS)
  shares.forEach((share, index) => {
    const rows = usedRows(g, share)
    const some = g.op('Gather', [tokens, rows], TOKENS, { attributes: { axis: 0n } })
    const weight = g.op('Gather', [share, rows], ['pos', 'one'], { attributes: { axis: 0n } })
    const weighted = g.op('Mul', [gated(g, some, act, weights.expert(index)), weight], TOKENS)
    const at = g.op('Reshape', [rows, g.ints([-1, 1])], ['pos', 'one'])
    sum = g.op('ScatterND', [sum, at, weighted], TOKENS, { attributes: { reduction: 'add' } })
  })
  const mixed = g.op('Reshape', [sum, g.op('Shape', [x], ['one'])], x.axes)
  if (!weights.shared) return mixed
  const open = g.op('Sigmoid', [linear(g, x, weights.shared.open, 'one')], ['batch', 'pos', 'one'])
  const always = g.op('Mul', [gated(g, x, act, weights.shared), open], x.axes)
  return g.op('Add', [mixed, always], x.axes)
}

// --- Internal helpers ---

/** The weight of every expert for every token, 0 for those that it does not use. */
function route(g: Builder, x: Value, spec: ExpertsSpec, router: LinearWeights): Value {
  const logits = g.hook('mlp.hook_router_logits', linear(g, x, router, 'expert'))
  const probs = g.op('Softmax', [logits], EXPERTS, { attributes: { axis: -1n } })
  // TopK puts the lower index first among equals.
  const [, best] = g.ops('TopK', [probs, g.ints([spec.used])], [CHOICES, CHOICES], {
    attributes: { axis: -1n, largest: 1n, sorted: 1n },
  }) as [Value, Value]
  const seen = g.hook('mlp.hook_expert_indices', g.op('Cast', [best], CHOICES, { attributes: { to: FLOAT } }))
  const indices = g.op('Cast', [seen], CHOICES, { attributes: { to: INT64 } })
  let values = g.op('GatherElements', [probs, indices], CHOICES, { attributes: { axis: -1n } })
  if (spec.renormalize) {
    const total = g.op('ReduceSum', [values, g.ints([-1])], ['batch', 'pos', 'one'])
    values = g.op('Div', [values, total], CHOICES)
  }
  const none = g.op('ConstantOfShape', [g.op('Shape', [probs], ['one'])], EXPERTS)
  // Added, so that an expert that an edit names twice gets both shares.
  const placed = g.op('ScatterElements', [none, indices, values], EXPERTS, {
    attributes: { axis: -1n, reduction: 'add' },
  })
  return g.hook('mlp.hook_expert_weights', placed)
}

/** Numbers of the tokens whose share [pos, one] is not 0. */
function usedRows(g: Builder, share: Value): Value {
  const flat = g.op('Reshape', [share, g.ints([-1])], ['pos'])
  return g.op('Reshape', [g.op('NonZero', [flat], ['one', 'pos']), g.ints([-1])], ['pos'])
}

/** act(gate) · up → out. */
function gated(g: Builder, x: Value, act: Activation, weights: GatedWeights): Value {
  const gate = activation(g, linear(g, x, weights.gate, 'd_mlp'), act)
  const product = g.op('Mul', [gate, linear(g, x, weights.up, 'd_mlp')], gate.axes)
  return linear(g, product, weights.out, 'd_model')
}
