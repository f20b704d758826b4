/** Another text for the encoder, of the same length: the head's output there takes the place of its output here. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { parseIds } from '../tokens/parse-ids.ts'

interface Props {
  readonly model: OpenedModel
  /** Tokens that it must have. */
  readonly length: number
  readonly onGive: (ids: readonly number[]) => void
}

export function PatchSource({ model, length, onGive }: Props) {
  const [text, setText] = useState('')
  const read = useMutation({
    mutationFn: async () => {
      const parsed = parseIds(text, model.spec.d_vocab)
      const ids = !parsed.problem
        ? parsed.ids
        : (await api.tokenize({ model: model.path, text, bos: 'auto' })).tokens.map(({ id }) => id)
      if (ids.length !== length)
        throw new Error(
          `It has ${ids.length} tokens, but the text that was read has ${length}; use one of that length.`,
        )
      return ids
    },
    onSuccess: onGive,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() !== '') read.mutate()
  }
  return (
    <form className="field texts-patch" onSubmit={submit}>
      <input
        className="input"
        aria-label="Another text for the encoder"
        placeholder={model.tokenizer ? `another text, ${length} tokens` : `${length} ids, such as 5, 9, 3`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button small" disabled={text.trim() === '' || read.isPending}>
        Patch
      </button>
      {read.isError && (
        <span className="problem small-text" role="alert">
          {read.error.message}
        </span>
      )}
    </form>
  )
}
