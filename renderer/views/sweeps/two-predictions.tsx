/** What the model says at one position without and with edits, as bars. In: a prompt and the edits of one cell. */
import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, PromptInput } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Edit } from '../../../core/run/types.ts'
import { api } from '../../api/client.ts'
import { ProbabilityBar } from '../../ui/bars.tsx'

interface Props {
  readonly model: OpenedModel
  readonly prompt: PromptInput
  readonly edits: readonly Edit[]
  readonly pos: number
  readonly names: readonly [string, string]
}

const SHOWN = 6

export function TwoPredictions({ model, prompt, edits, pos, names }: Props) {
  const result = useQuery({
    queryKey: ['predict', model.path, prompt, edits, pos],
    queryFn: ({ signal }) => api.predict({ model: model.path, prompt, edits, pos }, signal),
    retry: false,
  })
  if (result.isError)
    return (
      <p className="problem" role="alert">
        {result.error.message}
      </p>
    )
  const reply = result.data
  if (!reply) return <p className="muted small-text">Running this cell…</p>
  const rows = new Map<number, TokenView>()
  for (const side of [reply.base, reply.edited]) for (const { token } of side.top) rows.set(token.id, token)
  const of = (side: typeof reply.base, id: number) =>
    side.top.find(({ token }) => token.id === id)?.prob ?? null
  const most = (id: number) => Math.max(of(reply.base, id) ?? 0, of(reply.edited, id) ?? 0)
  const shown = [...rows.values()].sort((a, b) => most(b.id) - most(a.id)).slice(0, SHOWN)
  return (
    <div className="prediction">
      <div className="prediction-heads">
        <span />
        <span className="clip">{names[0]}</span>
        <span className="is-ablated clip">{names[1]}</span>
      </div>
      <ol className="prediction-list">
        {shown.map((token) => (
          <li key={token.id}>
            <span className="token-text clip">{token.text}</span>
            <ProbabilityBar value={of(reply.base, token.id)} look="base" none="less" />
            <ProbabilityBar value={of(reply.edited, token.id)} look="ablated" none="less" />
          </li>
        ))}
      </ol>
    </div>
  )
}
