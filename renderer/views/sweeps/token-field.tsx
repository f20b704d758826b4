/** Chooses one token: typed as text (it must be one token) or picked from the likely ones. */
import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'
import type { ChosenToken } from '../../state/metric.ts'

interface Props {
  readonly label: string
  readonly model: OpenedModel
  readonly value: ChosenToken | null
  readonly likely: readonly TokenView[]
  readonly onChange: (token: Pick<TokenView, 'id' | 'text'>) => void
}

export function TokenField({ label, model, value, likely, onChange }: Props) {
  const [open, setOpen] = useState(false)
  return (
    <span className="field">
      <span>{label}</span>
      <Popover.Root open={open} onOpenChange={setOpen}>
        <Popover.Trigger
          className="choice token-choice"
          aria-label={`${label}: ${value?.text ?? 'choose a token'}`}
        >
          <span className="token-text clip">{value?.text ?? 'choose…'}</span>
          <span className="choice-icon">▾</span>
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Positioner sideOffset={4} className="choice-positioner">
            <Popover.Popup className="help token-popup">
              <Popover.Title className="dialog-title">{label}</Popover.Title>
              <Typed
                model={model}
                onChoose={(token) => {
                  onChange(token)
                  setOpen(false)
                }}
              />
              {likely.length > 0 && <p className="muted small-text">likely here</p>}
              <div className="token-picks">
                {likely.map((token) => (
                  <button
                    key={token.id}
                    type="button"
                    className="id-chip token-text"
                    onClick={() => {
                      onChange(token)
                      setOpen(false)
                    }}
                  >
                    {token.text}
                    <i>{token.id}</i>
                  </button>
                ))}
              </div>
            </Popover.Popup>
          </Popover.Positioner>
        </Popover.Portal>
      </Popover.Root>
    </span>
  )
}

function Typed({
  model,
  onChoose,
}: {
  model: OpenedModel
  onChoose(token: Pick<TokenView, 'id' | 'text'>): void
}) {
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, 'no'],
    queryFn: ({ signal }) => api.tokenize({ model: model.path, text: asked, bos: 'no' }, signal),
    enabled: asked !== '' && model.tokenizer !== null,
    gcTime: 10_000,
    retry: false,
  }).data?.tokens
  const id = /^\d+$/.test(typed) && Number(typed) < model.spec.d_vocab ? Number(typed) : null
  const parts = typed === '' ? [] : (tokens ?? [])
  const one = parts.length === 1 ? parts[0]! : null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (one) onChoose(one)
    else if (id !== null) onChoose({ id, text: `#${id}` })
  }
  return (
    <form className="edit-form" onSubmit={submit}>
      <div className="path-line">
        <input
          className="input mono"
          aria-label="Token as text; begin with a space where the word does"
          placeholder="text with its space, or an id"
          value={typed}
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="button" disabled={!one && id === null}>
          Choose
        </button>
      </div>
      {parts.length > 1 && (
        <p className="problem small-text">
          That is {parts.length} tokens: {parts.map((part) => part.text).join(' | ')}. A metric looks at one.
        </p>
      )}
    </form>
  )
}
