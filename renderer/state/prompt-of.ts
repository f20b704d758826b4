/** The prompt and the edits of a stored run as parts of a request: of an encoder–decoder both texts. Pure. */
import type { PromptInput, RunDetail } from '../../core/api/contract.ts'
import type { Edit } from '../../core/run/types.ts'

type Texts = Pick<RunDetail, 'views' | 'source'>

/** Where a decoder read a text, `views` are the decoder's own. */
export function promptOf(run: Texts): PromptInput {
  return promptWith(
    run,
    run.views.map((view) => view.id),
  )
}

/** The ids that a sweep goes over: the decoder's own where the prompt is its encoder's text. */
export function ownIds({ ids, decoder }: PromptInput): readonly number[] {
  return decoder?.ids ?? ids ?? []
}

/** The same with other tokens in the place of the run's own; the encoder's text stays. */
export function promptWith({ source }: Pick<Texts, 'source'>, ids: readonly number[]): PromptInput {
  return source ? { ids: source.map((view) => view.id), decoder: { ids } } : { ids }
}

/** Edits as a whole run takes them: heads that are named without a stack are the decoder's. */
export function editsOf({ source }: Pick<Texts, 'source'>, edits: readonly Edit[]): readonly Edit[] {
  return source ? decoderEdits(edits) : edits
}

/** The same, where a decoder reads an encoder. */
export function decoderEdits(edits: readonly Edit[]): readonly Edit[] {
  return edits.map((edit) =>
    edit.hook.startsWith('blocks.') ? { ...edit, hook: `decoder.${edit.hook}` } : edit,
  )
}
