/** An edge in its text: some tokens around the key, and around the query that looks at it. Text only, never markup. */
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { range } from '../../ui/range.ts'

interface Props {
  readonly tokens: readonly TokenView[]
  /** null: no edge, the beginning of the text. */
  readonly query: number | null
  readonly key_: number
}

const BEFORE = 4
const AFTER = 2
const BEGINNING = 14

export function Snippet({ tokens, query, key_ }: Props) {
  const shown = new Set(
    query === null
      ? range(BEGINNING)
      : [key_, query].flatMap((at) => range(BEFORE + AFTER + 1).map((i) => at - BEFORE + i)),
  )
  const order = [...shown].filter((i) => i >= 0 && i < tokens.length).sort((a, b) => a - b)
  return (
    <span className="snippet token-text">
      {order.map((i, n) => (
        <span key={i}>
          {n > 0 && order[n - 1] !== i - 1 && <span className="muted"> … </span>}
          {n === 0 && i > 0 && <span className="muted">…</span>}
          <span className={i === query ? 'snippet-query' : query !== null && i === key_ ? 'snippet-key' : ''}>
            {(tokens[i]?.text ?? '').replaceAll('\n', '⏎')}
          </span>
        </span>
      ))}
    </span>
  )
}
