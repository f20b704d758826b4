/** Where the corrupt prompt is written, and both prompts token over token. In: a pair. Out: its texts, changed. */
import type { RunDetail } from '../../../core/api/contract.ts'
import { AlignedPrompts } from './aligned-prompts.tsx'
import type { Pair, PairText } from './use-pair.ts'
import { idsText } from './use-written.ts'

interface Props {
  readonly run: RunDetail
  readonly pair: Pair
  /** What else went wrong. */
  readonly failed: string | null
}

export function PairFields({ run, pair, failed }: Props) {
  const { source, byIds } = pair
  const own = source ? (run.decoderText ?? null) : run.text
  const asIs = 'empty: as in clean'
  return (
    <>
      <div className="toolbar is-wrapping">
        {source && (
          <Field
            label="Corrupt source"
            name="source"
            placeholder={`what the encoder reads; ${asIs}`}
            side={source}
            text={byIds ? null : run.text}
          />
        )}
        <Field
          label="Corrupt prompt"
          name={source ? 'decoder' : null}
          placeholder={
            source
              ? `${pair.clean.length} tokens${byIds ? ', as ids' : ''}; ${asIs}`
              : byIds
                ? `corrupt prompt: ${pair.clean.length} token ids, one of them changed`
                : `corrupt prompt: as many tokens as “${(run.text ?? '').slice(0, 40)}…”, one thing changed`
          }
          side={pair}
          text={byIds ? null : own}
        />
      </div>
      <div className="aligned-pair">
        {source && (
          <AlignedPrompts
            what="source"
            clean={source.clean}
            corrupt={source.corrupt}
            differing={source.differing}
          />
        )}
        <AlignedPrompts
          what={source ? 'decoder' : null}
          clean={pair.clean}
          corrupt={pair.corrupt}
          differing={pair.differing}
        />
      </div>
      <p className="problem sweep-problem" role="alert">
        {pair.problem ?? failed ?? ''}
      </p>
    </>
  )
}

interface FieldProps {
  readonly label: string
  /** What stands before it, where there are two. */
  readonly name: string | null
  readonly placeholder: string
  readonly side: PairText
  /** The clean one as a text; null: it has none. */
  readonly text: string | null
}

function Field({ label, name, placeholder, side, text }: FieldProps) {
  return (
    <span className="corrupt-field">
      {name && <span className="muted">corrupt {name}</span>}
      <input
        className="input corrupt-input mono"
        aria-label={label}
        placeholder={placeholder}
        value={side.text}
        spellCheck={false}
        onChange={(event) => side.setText(event.target.value)}
      />
      {side.text === '' && (
        <button
          type="button"
          className="button small"
          aria-label={name ? `Copy the clean ${name}` : undefined}
          onClick={() => side.setText(text || idsText(side.clean.map(({ id }) => id)))}
        >
          {name ? 'Copy' : 'Copy the clean'} {text ? 'text' : 'ids'}
        </button>
      )}
    </span>
  )
}

/** What a failed start says; a cancelled one says nothing. */
export function failureOf(...errors: readonly (Error | null)[]): string | null {
  const failed = errors.find((error) => error && (error as { code?: string }).code !== 'cancelled')
  return failed?.message ?? null
}
