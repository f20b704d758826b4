/** One example as a button that opens it. */
import { useMutation } from '@tanstack/react-query'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { preciseWeight } from '../../state/format.ts'
import { Snippet } from './snippet.tsx'

interface Props {
  readonly tokens: readonly TokenView[]
  /** null: a whole text, no edge. */
  readonly query: number | null
  readonly at: number // the key
  readonly weight: number
  /** Said before the weight. */
  readonly says?: string
  readonly onOpen: () => Promise<void>
}

export function ExampleRow({ tokens, query, at, weight, says, onOpen }: Props) {
  const open = useMutation({ mutationFn: onOpen })
  return (
    <li>
      <button
        type="button"
        className={says === undefined ? 'example-row' : 'example-row has-says'}
        title={`${query === null ? '' : `query ${query} → key ${at}: `}open this text as the prompt`}
        disabled={open.isPending}
        onClick={() => open.mutate()}
      >
        <Snippet tokens={tokens} query={query} key_={at} />
        {says !== undefined && <span className="says is-right">{says}</span>}
        <span className="number">{preciseWeight(weight)}</span>
      </button>
      {open.isError && (
        <p className="problem" role="alert">
          {open.error.message}
        </p>
      )}
    </li>
  )
}
