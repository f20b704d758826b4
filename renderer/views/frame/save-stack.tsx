/** Keeps the stack of edits by a name, with the prompt and what it did there. The library lists it; opening it brings it back. */
import { Popover } from '@base-ui/react/popover'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { useRun } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { editLabel } from '../../state/edits.ts'
import { editsOf, promptOf } from '../../state/prompt-of.ts'
import { useSelection } from '../../state/store.ts'

export function SaveStack({ model }: { model: OpenedModel }) {
  const [open, setOpen] = useState(false)
  const run = useRun().data
  const edits = useSelection((s) => s.edits)
  const [name, setName] = useState('')
  const save = useMutation({
    mutationFn: () =>
      api.keepEdits({
        model: model.path,
        prompt: promptOf(run!),
        name: name.trim() || called(edits.map(editLabel)),
        edits: edits.map((active) => ({ ...active, edit: editsOf(run!, [active.edit])[0]! })),
      }),
    onSuccess: () => {
      setOpen(false)
      void queryClient.invalidateQueries({ queryKey: ['edit-stacks'] })
    },
  })
  if (!run) return null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <Popover.Root
      open={open}
      onOpenChange={(next) => {
        setOpen(next)
        save.reset()
      }}
    >
      <Popover.Trigger className="button small" title="Keeps these edits, this prompt and what they do to it">
        Save…
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} side="top">
          <Popover.Popup className="help edit-card">
            <Popover.Title className="dialog-title">Save the edits as an experiment</Popover.Title>
            <form className="path-line" onSubmit={submit}>
              <input
                className="input"
                aria-label="Name of the experiment"
                placeholder={called(edits.map(editLabel))}
                value={name}
                maxLength={200}
                onChange={(event) => setName(event.target.value)}
              />
              <button type="submit" className="button primary" disabled={save.isPending}>
                {save.isPending ? 'Saving…' : 'Save'}
              </button>
            </form>
            {save.isError && (
              <p className="problem" role="alert">
                {save.error.message}
              </p>
            )}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** What a stack is called that nobody named. */
function called(labels: readonly string[]): string {
  return labels.join(', ').slice(0, 200)
}
