/** One token of the vocabulary: its id, and the merges that build it. In: a token. Out: what stands in a popover. */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { api } from '../../api/client.ts'

export function TokenCard({ model, token }: { model: OpenedModel; token: TokenView }) {
  const merges = useQuery({
    queryKey: ['merges', model.path, token.id],
    queryFn: ({ signal }) => api.merges({ model: model.path, id: token.id }, signal),
    retry: false,
  })
  return (
    <>
      <p className="token-card-head">
        <span className="token-text">{token.text}</span> <span className="muted">id {token.id}</span>
        {token.special && <span className="muted">special: no text of the prompt, one unit</span>}
        {token.group !== null && <span className="muted">part of a character</span>}
      </p>
      {merges.isError && <p className="problem">{merges.error.message}</p>}
      {merges.data && merges.data.merges.length > 0 && (
        <table className="data-table merges">
          <caption>Merges that build it, first to last, as the vocabulary spells them</caption>
          <thead>
            <tr>
              <th scope="col">left</th>
              <th scope="col">right</th>
              <th scope="col">gives</th>
              <th
                scope="col"
                className="number"
                title="Position in the list of merges: 0 was the most frequent pair"
              >
                rank
              </th>
            </tr>
          </thead>
          <tbody>
            {merges.data.merges.map(({ left, right, result, rank }) => (
              <tr key={result}>
                <td className="token-text">{left}</td>
                <td className="token-text">{right}</td>
                <td className="token-text">{result}</td>
                <td className="number">{rank}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {merges.data?.merges.length === 0 && (
        <p className="muted small-text">A single unit of the vocabulary: no merges build it.</p>
      )}
    </>
  )
}
