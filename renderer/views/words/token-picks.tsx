/** Tokens in a row: a click takes one, or lets it go. */
import type { TokenView } from '../../../core/checkpoint/types.ts'

interface Props {
  readonly label: string
  readonly tokens: readonly TokenView[]
  readonly chosen: ReadonlySet<number>
  readonly onPick: (pos: number) => void
}

export function TokenPicks({ label, tokens, chosen, onPick }: Props) {
  return (
    <fieldset className="token-picks" aria-label={label}>
      {tokens.map((token, pos) => (
        <button
          // biome-ignore lint/suspicious/noArrayIndexKey: a token is its place in the text
          key={pos}
          type="button"
          className={chosen.has(pos) ? 'token-pick is-selected' : 'token-pick'}
          aria-pressed={chosen.has(pos)}
          title={`position ${pos}, id ${token.id}`}
          onClick={() => onPick(pos)}
        >
          {token.text}
        </button>
      ))}
    </fieldset>
  )
}
