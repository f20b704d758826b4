/** What a decoder's own text is made of, where it reads an encoder: its start token, then plain tokens. */
import type { Tokenizer } from '../checkpoint/types.ts'
import { HeadscopeError } from '../errors.ts'
import type { ModelSpec } from '../graph/model-spec.ts'
import { plainIds } from './plain-ids.ts'

/**
 * The decoder's ids for a text: the start token and the text's own tokens, without what the tokenizer puts around an
 * encoder's text (its end token would end the decoder's). No text: the start token alone. Throws `bad-prompt`.
 */
export function decoderPrompt(
  model: { readonly spec: ModelSpec; readonly tokenizer: Tokenizer | null },
  text: string,
): number[] {
  const { encoderDecoder, family } = model.spec
  if (!encoderDecoder)
    throw new HeadscopeError(
      'bad-prompt',
      `Models of the family ${family} have one text, so there is none for a decoder beside it; leave it out.`,
    )
  if (text === '') return [encoderDecoder.start]
  if (!model.tokenizer)
    throw new HeadscopeError(
      'bad-prompt',
      "This checkpoint has no tokenizer, so the decoder's text cannot be read; give its token ids.",
    )
  return [encoderDecoder.start, ...plainIds(model.tokenizer, text)]
}
