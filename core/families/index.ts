/** The families that Headscope runs, by `model_type`. */
import type { RawConfig } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { Family, FamilyModel } from './family.ts'
import { gptNeox } from './gpt-neox.ts'
import { gpt2 } from './gpt2.ts'
import { llama } from './llama.ts'

const FAMILIES: readonly Family[] = [gpt2, gptNeox, llama]
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
