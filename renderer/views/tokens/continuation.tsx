/** Lets the model go on, token by token, greedily; what it said can become the prompt, with all its patterns. */
import { Popover } from '@base-ui/react/popover'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { runOn } from '../../state/open.ts'

const COUNTS = [1, 5, 20, 50] as const

export function Continuation({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [open, setOpen] = useState(false)
  const ids = run.views.map((view) => view.id)
  const going = useMutation({
    mutationFn: (max: number) => api.generate({ model: model.path, prompt: { ids }, max }),
  })
  const using = useMutation({
    mutationFn: (count: number) =>
      runOn(model, { ids: [...ids, ...(going.data?.tokens.slice(0, count).map((t) => t.id) ?? [])] }),
    onSuccess: () => setOpen(false),
  })
  const said = going.data?.tokens ?? []
  const problem = going.error ?? using.error
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className="button small">Continue…</Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="end" className="choice-positioner">
          <Popover.Popup className="help continuation">
            <Popover.Title className="dialog-title">What comes next</Popover.Title>
            <p className="button-row">
              {COUNTS.map((count) => (
                <button
                  key={count}
                  type="button"
                  className="button small"
                  disabled={going.isPending}
                  onClick={() => going.mutate(count)}
                >
                  {count === 1 ? '1 token' : `${count} tokens`}
                </button>
              ))}
              {going.isPending && <span className="muted">…</span>}
            </p>
            {problem && (
              <p className="problem" role="alert">
                {problem.message}
              </p>
            )}
            {said.length > 0 && (
              <>
                <ol className="tokens">
                  {said.map((token, i) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: a token is its position
                    <li key={i}>
                      <button
                        type="button"
                        className={token.special ? 'token is-special' : 'token'}
                        title={`Run the prompt up to here: ${i + 1} more tokens`}
                        disabled={using.isPending}
                        onClick={() => using.mutate(i + 1)}
                      >
                        <i className="token-index">{run.views.length + i}</i>{' '}
                        <span className="token-text">{token.text}</span>
                      </button>
                    </li>
                  ))}
                </ol>
                <p className="muted small-text">
                  Greedy: the likeliest token each time. Click one to make the text up to it the prompt.
                </p>
              </>
            )}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
