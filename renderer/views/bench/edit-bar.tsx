/** What can be changed in the head: a typed score, the temperature, the mask, √d_k. All of it is in the address. */
import { type FormEvent, useState } from 'react'
import type { BenchReply, GridReply } from '../../../core/api/contract.ts'
import { preciseWeight } from '../../state/format.ts'
import { select, setTool, useSelection, useTool } from '../../state/store.ts'
import { formatTyped, isKeyStep, parseTyped, SCORES, withCell, withoutCell } from './changes.ts'

interface Props {
  readonly bench: BenchReply
  /** [query, key], as the head runs unchanged. */
  readonly scores: GridReply
  /** The head looks at a source: there is no mask to take away. */
  readonly cross: boolean
}

export function EditBar({ bench, scores, cross }: Props) {
  const { tokens, key_tokens: keys, query, key: keyAt } = bench
  const tool = useSelection((s) => s.tool)
  const [tau] = useTool<string>('bench_tau', '1')
  const typed = parseTyped(tool.bench_typed ?? '', tokens.length, cross ? keys.length : null)
  const score = scores.values[query * keys.length + keyAt] ?? null
  const changed = tool.bench_mask || tool.bench_scale || tool.bench_tau || tool.bench_typed
  const toggle = (name: string) => change(name, tool[name] === 'off' ? '' : 'off')
  return (
    <div className="bench-edits">
      <ScoreForm
        key={`${query}.${keyAt}`}
        label={`${query} ${tokens[query]?.text} → ${keyAt} ${keys[keyAt]?.text}`}
        now={score}
        onType={(value) =>
          change(
            'bench_typed',
            formatTyped(withCell(typed, { step: SCORES, row: query, column: keyAt, value })),
          )
        }
      />
      <label className="field">
        <span>temperature</span>
        <input
          type="range"
          className="bench-range"
          aria-label="Temperature of the softmax"
          min={-3}
          max={3}
          step={0.25}
          value={Math.log2(Number(tau) || 1)}
          onChange={(event) =>
            change('bench_tau', String(Number((2 ** Number(event.target.value)).toPrecision(4))))
          }
        />
        <output>{tau}</output>
      </label>
      {!cross && (
        <button
          type="button"
          className={tool.bench_mask === 'off' ? 'button small toggle is-on' : 'button small toggle'}
          aria-pressed={tool.bench_mask === 'off'}
          onClick={() => toggle('bench_mask')}
        >
          No mask
        </button>
      )}
      <button
        type="button"
        className={tool.bench_scale === 'off' ? 'button small toggle is-on' : 'button small toggle'}
        aria-pressed={tool.bench_scale === 'off'}
        onClick={() => toggle('bench_scale')}
      >
        No √d_k
      </button>
      {typed.map((one) => (
        <span key={`${one.step} ${one.row}.${one.column}`} className="bench-chip">
          <button
            type="button"
            className="link"
            title={`Open the step ${one.step}`}
            onClick={() => {
              setTool('bench_step', one.step)
              if (one.row < tokens.length && !isKeyStep(one.step, cross))
                select({ query: one.row, also: [] }, { replace: true })
            }}
          >
            {one.step === SCORES ? `${one.row} → ${one.column}` : `${one.step} ${one.row}, ${one.column}`}:{' '}
            {one.value}
          </button>
          <button
            type="button"
            className="bench-remove"
            aria-label={`Take back ${one.step} ${one.row}, ${one.column}`}
            onClick={() => change('bench_typed', formatTyped(withoutCell(typed, one)))}
          >
            ×
          </button>
        </span>
      ))}
      {changed && (
        <button
          type="button"
          className="button small"
          onClick={() => {
            for (const name of ['bench_mask', 'bench_scale', 'bench_tau', 'bench_typed', 'bench_side'])
              setTool(name, '')
          }}
        >
          As it is
        </button>
      )}
    </div>
  )
}

/** A change brings its effect beside the step. */
export function change(name: string, value: string): void {
  setTool(name, value)
  setTool('bench_side', 'effect')
}

function ScoreForm({
  label,
  now,
  onType,
}: {
  label: string
  now: number | null
  onType: (score: number) => void
}) {
  const [text, setText] = useState('')
  const value = text.trim() === '' ? Number.NaN : Number(text)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (Number.isFinite(value)) onType(value)
  }
  return (
    <form className="field" onSubmit={submit}>
      <span>
        score <b className="token-text bench-pair">{label}</b>
      </span>
      <input
        className="input bench-score"
        aria-label={`Score of ${label}`}
        inputMode="decimal"
        placeholder={now === null ? 'hidden' : preciseWeight(now)}
        value={text}
        aria-invalid={text.trim() !== '' && !Number.isFinite(value)}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button small" disabled={!Number.isFinite(value)}>
        Set
      </button>
    </form>
  )
}
