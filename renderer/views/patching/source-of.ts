/** What the encoder read in a comparison. In: its prompts as they were given. Out: ids to run again, and words for a figure. */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, PromptInput } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'

/** The encoder's ids of a prompt; null while they are read, or where there is no prompt. */
export function useSourceIds(model: OpenedModel, prompt: PromptInput | null): readonly number[] | null {
  const { ids, text = '', bos = 'auto', specials } = prompt ?? {}
  const asked = { model: model.path, text, bos, ...(specials ? { specials } : {}) }
  const tokens = useQuery({
    queryKey: ['tokenize', asked],
    queryFn: ({ signal }) => api.tokenize(asked, signal),
    enabled: prompt !== null && ids === undefined && text !== '',
    retry: false,
  }).data?.tokens
  return ids ?? tokens?.map((token) => token.id) ?? null
}

/** Lines that name the sources beside the decoder's texts; none where the model reads one text. */
export function sourceFacts({
  clean,
  corrupt,
}: {
  readonly clean: PromptInput
  readonly corrupt: PromptInput
}): string[] {
  if (!clean.decoder && !corrupt.decoder) return []
  const words = ({ text, ids = [] }: PromptInput) =>
    text === undefined ? `ids ${ids.join(', ')}` : `“${text}”`
  const [own, other] = [words(clean), words(corrupt)]
  return own === other ? [`source ${own}`] : [`clean source ${own}`, `corrupt source ${other}`]
}
