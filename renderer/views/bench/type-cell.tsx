/** A field for one number of the open step: what is typed stands in its place, and everything after it runs again. */
import { type FormEvent, useState } from 'react'
import { preciseWeight } from '../../state/format.ts'
import { useSelection } from '../../state/store.ts'
import { formatTyped, parseTyped, withCell } from './changes.ts'
import { change } from './edit-bar.tsx'

interface Props {
  readonly step: string
  /** Row and column as the engine counts them. */
  readonly at: { readonly row: number; readonly column: number }
  readonly label: string
  /** The number that stands there; null: hidden. */
  readonly now: number | null
  /** Tokens of the prompt, and of the source that the head looks at, if it does. */
  readonly length: number
  readonly source: number | null
}

export function TypeCell({ step, at, label, now, length, source }: Props) {
  const tool = useSelection((s) => s.tool)
  const [text, setText] = useState('')
  const value = text.trim() === '' ? Number.NaN : Number(text)
  const wrong = text.trim() !== '' && !Number.isFinite(value)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!Number.isFinite(value)) return
    const typed = parseTyped(tool.bench_typed ?? '', length, source)
    change('bench_typed', formatTyped(withCell(typed, { step, ...at, value })))
    setText('')
  }
  return (
    <form className="field bench-type" onSubmit={submit}>
      <span className="token-text clip">{label}</span>
      <input
        className="input bench-score"
        aria-label={`${step}: ${label}`}
        inputMode="decimal"
        placeholder={now === null ? 'hidden' : preciseWeight(now)}
        value={text}
        aria-invalid={wrong}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button small" disabled={!Number.isFinite(value)}>
        Set
      </button>
      {wrong && <span className="problem small-text">a number, such as -0.5</span>}
    </form>
  )
}
