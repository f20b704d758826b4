/**
 * How a stored prompt is run once more. In: its text and its tokens. Out: the text with the choices (beginning of text,
 * special tokens as plain text) that give exactly these tokens. One question to the tokenizer, seldom more; kept.
 */
import type { PromptInput, RunDetail } from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'

/** A text and how it is read. */
export interface Reading {
  readonly text: string
  readonly bos: 'auto' | 'yes' | 'no'
  readonly specials?: 'text'
}

const CHOICES: readonly Omit<Reading, 'text'>[] = (['auto', 'yes', 'no'] as const).flatMap((bos) => [
  { bos },
  { bos, specials: 'text' as const },
])

/** The reading of `text` that gives `ids` on this model; null where none does, as after another tokenizer. */
export function readingOf(model: string, text: string, ids: readonly number[]): Promise<Reading | null> {
  return queryClient.fetchQuery({
    queryKey: ['reading', model, text, ids],
    queryFn: async () => {
      for (const choice of CHOICES) {
        const { tokens } = await api.tokenize({ model, text, ...choice })
        if (tokens.length === ids.length && tokens.every((token, i) => token.id === ids[i]))
          return { text, ...choice }
      }
      return null
    },
    retry: false,
  })
}

/** The prompt of a run for another checkpoint: the text as it was read, where there is one, else the tokens. */
export async function promptAgain(run: RunDetail): Promise<PromptInput> {
  const ids = (run.source ?? run.views).map(({ id }) => id)
  const own = run.source ? { decoder: decoderAgain(run) } : {}
  if (run.text === null) return { ids, ...own }
  // Whether its own checkpoint can still be asked is no reason not to open the other one.
  const reading = await readingOf(run.model, run.text, ids).catch(() => null)
  return { ...(reading ?? { text: run.text }), ...own }
}

/** What a decoder read beside its encoder's text, as a part of a prompt. */
export function decoderAgain(
  run: Pick<RunDetail, 'views' | 'decoderText'>,
): NonNullable<PromptInput['decoder']> {
  return run.decoderText != null ? { text: run.decoderText } : { ids: run.views.map(({ id }) => id) }
}
