/**
 * Prompts that an edit takes values from, where a decoder reads an encoder: what is typed is the decoder's own, read beside
 * the source of the run that is shown. In: an edit as typed. Out: the same with both texts as ids. One question a text.
 */
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Edit, MeanPrompt } from '../../../core/run/types.ts'
import { api } from '../../api/client.ts'

export async function besideSource(
  model: Pick<OpenedModel, 'path'>,
  source: readonly TokenView[],
  edit: Edit,
): Promise<Edit> {
  const { from } = edit
  const ids = source.map((view) => view.id)
  if (from && 'ids' in from && !from.decoder_ids) return { ...edit, from: { ids, decoder_ids: from.ids } }
  if (!from || !('mean' in from) || typeof from.mean === 'string') return edit
  const own = async (prompt: MeanPrompt): Promise<readonly number[]> => {
    if ('ids' in prompt) return prompt.ids
    const asked = { model: model.path, text: prompt.text, bos: 'auto', decoder: true } as const
    return (await api.tokenize(asked)).tokens.map((token) => token.id)
  }
  const mean = await Promise.all(from.mean.map(async (prompt) => ({ ids, decoder_ids: await own(prompt) })))
  return { ...edit, from: { ...from, mean } }
}
