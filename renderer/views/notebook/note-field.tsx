/** A free text that is saved as it is typed. In: what is stored, how to save it. Out: a text area that says how saving goes. */
import { useState } from 'react'
import { type Saving, useAutosave } from '../../ui/use-autosave.ts'

interface Props {
  readonly label: string
  readonly placeholder: string
  /** undefined: not read yet. */
  readonly stored: string | undefined
  readonly save: (text: string) => Promise<void>
}

/** Characters of a note, at most: the engine refuses more. */
const LONGEST = 20_000

export function NoteField({ label, placeholder, stored, save }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  const { state, change, flush } = useAutosave(save)
  const text = typed ?? stored ?? ''
  return (
    <div className="note-field">
      <textarea
        className="input note-text"
        aria-label={label}
        placeholder={placeholder}
        rows={Math.min(12, Math.max(2, text.split('\n').length))}
        maxLength={LONGEST}
        value={text}
        disabled={stored === undefined}
        onChange={(event) => {
          setTyped(event.target.value)
          change(event.target.value)
        }}
        onBlur={flush}
      />
      {typeof state === 'object' ? (
        <p className="problem small-text" role="alert">
          Not saved: {state.problem}
        </p>
      ) : (
        <p className="muted small-text note-state" role="status">
          {WORDS[state]}
        </p>
      )}
    </div>
  )
}

const WORDS: Readonly<Record<Exclude<Saving, object>, string>> = {
  idle: '',
  waiting: 'not saved yet',
  saving: 'saving…',
  saved: 'saved',
}
