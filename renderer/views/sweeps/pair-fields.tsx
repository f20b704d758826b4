/** Where the corrupt prompt is written, and both prompts token over token. In: a pair. Out: its text, changed. */
import type { RunDetail } from '../../../core/api/contract.ts'
import { AlignedPrompts } from './aligned-prompts.tsx'
import { idsText, type Pair } from './use-pair.ts'

interface Props {
  readonly run: RunDetail
  readonly pair: Pair
  /** What else went wrong. */
  readonly failed: string | null
}

export function PairFields({ run, pair, failed }: Props) {
  return (
    <>
      <div className="toolbar is-wrapping">
        <input
          className="input corrupt-input mono"
          aria-label="Corrupt prompt"
          placeholder={
            pair.byIds
              ? `corrupt prompt: ${pair.clean.length} token ids, one of them changed`
              : `corrupt prompt: as many tokens as “${(run.text ?? '').slice(0, 40)}…”, one thing changed`
          }
          value={pair.text}
          spellCheck={false}
          onChange={(event) => pair.setText(event.target.value)}
        />
        {pair.text === '' && (
          <button
            type="button"
            className="button small"
            onClick={() => pair.setText(run.text !== null && !pair.byIds ? run.text : idsText(pair.cleanIds))}
          >
            Copy the clean {run.text !== null && !pair.byIds ? 'text' : 'ids'}
          </button>
        )}
      </div>
      <AlignedPrompts clean={pair.clean} corrupt={pair.corrupt} differing={pair.differing} />
      <p className="problem sweep-problem" role="alert">
        {pair.problem ?? failed ?? ''}
      </p>
    </>
  )
}

/** What a failed start says; a cancelled one says nothing. */
export function failureOf(...errors: readonly (Error | null)[]): string | null {
  const failed = errors.find((error) => error && (error as { code?: string }).code !== 'cancelled')
  return failed?.message ?? null
}
