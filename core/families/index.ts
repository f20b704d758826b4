/** The families that Headscope runs, by `model_type`. */
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import { bart, marian } from './bart.ts'
import { bert } from './bert.ts'
import { bloom } from './bloom.ts'
import { falcon } from './falcon.ts'
import type { Family, FamilyModel } from './family.ts'
import { gemma, gemma2, gemma3 } from './gemma.ts'
import { gptNeo } from './gpt-neo.ts'
import { gptNeox } from './gpt-neox.ts'
import { gpt2 } from './gpt2.ts'
import { gptj, phi } from './gptj-phi.ts'
import {
  cohere,
  granite,
  llama,
  mistral,
  olmo,
  olmo2,
  phi3,
  qwen2,
  qwen3,
  smollm3,
  stablelm,
  starcoder2,
} from './llama.ts'
import { mixtral, olmoe, qwen2Moe, qwen3Moe } from './moe.ts'
import { opt } from './opt.ts'
import { t5 } from './t5.ts'

const FAMILIES: readonly Family[] = [
  gpt2,
  gptNeo,
  gptNeox,
  gptj,
  opt,
  bloom,
  phi,
  phi3,
  llama,
  mistral,
  mixtral,
  qwen2,
  qwen3,
  qwen2Moe,
  qwen3Moe,
  olmoe,
  gemma,
  gemma2,
  gemma3,
  olmo,
  olmo2,
  stablelm,
  starcoder2,
  falcon,
  cohere,
  granite,
  smollm3,
  bert,
  t5,
  bart,
  marian,
]
const BY_TYPE = new Map(
  FAMILIES.flatMap((family) => family.modelTypes.map((type) => [type, family] as const)),
)

/** `model_type` values that can be opened. */
export const familyNames: readonly string[] = [...BY_TYPE.keys()]

/** Reads a config into its family's model. Throws `unsupported` for another family, listing those that are known. */
export function readFamily(config: RawConfig): FamilyModel {
  const type = config.model_type
  const known = familyNames.join(', ')
  if (typeof type !== 'string')
    throw new HeadscopeError(
      'bad-checkpoint',
      `config.json: model_type is ${type === undefined ? 'missing' : JSON.stringify(type)}, but must name the family (${known}); add it to config.json.`,
    )
  const family = BY_TYPE.get(type)
  if (!family)
    throw new HeadscopeError(
      'unsupported',
      `config.json: the family "${type}" is not supported; Headscope runs ${known}.`,
    )
  return family.read(config)
}
