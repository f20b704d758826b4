/** How files name a layer's router and experts: Mixtral's way and Qwen's (OLMoE's too). */
import type { WantedTensor } from '../checkpoint/types.ts'
import type { ExpertWeights } from '../graph/experts.ts'
import type { ExpertsSpec } from '../graph/model-spec.ts'
import type { Switches } from './llama-like.ts'
import { layers, type Size, want, wantLinear, weights } from './parts.ts'

/** Weights of layer `l` for the graph. */
export function expertPart(s: Pick<Switches, 'expertNames'>, l: number, spec: ExpertsSpec): ExpertWeights {
  const names = namesOf(s, l)
  const matrix = (name: string) => weights(name, 'out_in', false)
  const expert = (at: string, parts: readonly [string, string, string]) => ({
    gate: matrix(`${at}.${parts[0]}`),
    up: matrix(`${at}.${parts[1]}`),
    out: matrix(`${at}.${parts[2]}`),
  })
  return {
    router: matrix(`${names.at}.gate`),
    expert: (index) => expert(`${names.at}.experts.${index}`, names.parts),
    ...(spec.shared === null
      ? {}
      : {
          shared: {
            ...expert(`${names.at}.shared_expert`, QWEN),
            open: matrix(`${names.at}.shared_expert_gate`),
          },
        }),
  }
}

/** Tensors of layer `l` for the plan. */
export function expertTensors(
  s: Pick<Switches, 'expertNames'>,
  l: number,
  spec: ExpertsSpec,
  d: Size,
): WantedTensor[] {
  const names = namesOf(s, l)
  const key = s.expertNames === 'mixtral' ? 'intermediate_size' : 'moe_intermediate_size'
  const expert = (at: string, parts: readonly [string, string, string], width: Size) => [
    ...wantLinear(`${at}.${parts[0]}`, 'mlp', 'out_in', d, width, false),
    ...wantLinear(`${at}.${parts[1]}`, 'mlp', 'out_in', d, width, false),
    ...wantLinear(`${at}.${parts[2]}`, 'mlp', 'out_in', width, d, false),
  ]
  return [
    want(`${names.at}.gate.weight`, 'router', ['number of experts', spec.count], d),
    ...layers(spec.count, (index) =>
      expert(`${names.at}.experts.${index}`, names.parts, [key, spec.dMlp]),
    ).flat(),
    ...(spec.shared === null
      ? []
      : [
          ...expert(`${names.at}.shared_expert`, QWEN, ['shared_expert_intermediate_size', spec.shared]),
          want(`${names.at}.shared_expert_gate.weight`, 'router', ['1', 1], d),
        ]),
  ]
}

// --- Internal helpers ---

const MIXTRAL = ['w1', 'w3', 'w2'] as const
const QWEN = ['gate_proj', 'up_proj', 'down_proj'] as const

function namesOf(s: Pick<Switches, 'expertNames'>, l: number) {
  return s.expertNames === 'mixtral'
    ? { at: `layers.${l}.block_sparse_moe`, parts: MIXTRAL }
    : { at: `layers.${l}.mlp`, parts: QWEN }
}
