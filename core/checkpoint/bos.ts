/**
 * What a tokenizer puts around a text: begin-of-text, end-of-text, [CLS] and [SEP].
 * In: the template of tokenizer.json (template.ts) and tokenizer_config.json. Out: ids before and after a text.
 * Rule: the post-processor decides; `add_bos_token` and `add_eos_token`, where tokenizer_config.json has them, win
 * over it, as in transformers. A begin-of-text token is never doubled.
 */
import { HeadscopeError } from '../errors.ts'
import { isObject, type JsonObject, show } from './json.ts'

export type BosChoice = 'auto' | 'yes' | 'no'

export interface Surround {
  readonly bosId: number | null
  readonly bosToken: string | null
  readonly addsBos: boolean
  /** Without the begin-of-text token. */
  readonly before: readonly number[]
  readonly after: readonly number[]
}

/**
 * Reads the surround of a tokenizer.
 * @param config tokenizer_config.json (or special_tokens_map.json), empty when there is none
 */
export function readSurround(
  template: { readonly before: readonly number[]; readonly after: readonly number[] },
  config: JsonObject,
  ids: ReadonlyMap<string, number>,
): Surround {
  const bosToken = tokenText(config, 'bos_token')
  const eosToken = tokenText(config, 'eos_token')
  const bosId = bosToken === null ? null : (ids.get(bosToken) ?? null)
  const eosId = eosToken === null ? null : (ids.get(eosToken) ?? null)
  const addBos = switchOf(config, 'add_bos_token')
  const addEos = switchOf(config, 'add_eos_token')
  let after = template.after
  if (eosId !== null && addEos === true && !after.includes(eosId)) after = [...after, eosId]
  if (eosId !== null && addEos === false) after = after.filter((id) => id !== eosId)
  return {
    bosId,
    bosToken: bosId === null ? null : bosToken,
    addsBos: bosId !== null && (addBos ?? template.before.includes(bosId)),
    before: template.before.filter((id) => id !== bosId),
    after,
  }
}

/** Puts the surround around the ids of a text. @throws HeadscopeError 'bad-request' for 'yes' without such a token */
export function surround(
  textIds: readonly number[],
  { bosId, addsBos, before, after }: Surround,
  bos: BosChoice,
): number[] {
  if (bos !== 'auto' && bos !== 'yes' && bos !== 'no')
    throw new HeadscopeError('bad-request', `bos is "${bos}", but must be auto, yes or no.`)
  if (bos === 'yes' && bosId === null) {
    throw new HeadscopeError(
      'bad-request',
      'This tokenizer has no begin-of-text token; run without it (--bos no or auto).',
    )
  }
  const wanted = bosId !== null && (bos === 'yes' || (bos === 'auto' && addsBos))
  const start = wanted && textIds[0] !== bosId ? [bosId] : []
  return [...start, ...before, ...textIds, ...after]
}

function tokenText(config: JsonObject, key: string): string | null {
  const value = config[key]
  if (value === undefined || value === null) return null
  const text = isObject(value) ? value.content : value
  if (typeof text === 'string') return text
  throw new HeadscopeError(
    'bad-checkpoint',
    `tokenizer_config.json: ${key} is ${show(value)}, but must be a text; correct it or download it again.`,
  )
}

function switchOf(config: JsonObject, key: string): boolean | null {
  const value = config[key]
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return value
  throw new HeadscopeError(
    'bad-checkpoint',
    `tokenizer_config.json: ${key} is ${show(value)}, but must be true or false; correct it or download it again.`,
  )
}
