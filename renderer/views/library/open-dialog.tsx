/** Finds a checkpoint on disk: type its path, or walk through folders. What is wrong stands beside the path. */
import { Dialog } from '@base-ui/react/dialog'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useState } from 'react'
import type { LibraryModel, OpenCost } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { useRun } from '../../api/queries.ts'
import { desktop } from '../../state/desktop.ts'
import { openCheckpoint } from '../../state/open.ts'
import { size } from '../../ui/sizes.ts'

export function OpenDialog({ recents }: { recents: readonly LibraryModel[] }) {
  const [open, setOpen] = useState(false)
  return (
    <Dialog.Root open={open} onOpenChange={setOpen}>
      <Dialog.Trigger className="button open-button">Open checkpoint…</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">Open a checkpoint</Dialog.Title>
          <Dialog.Description className="muted">
            A folder with config.json and model.safetensors, a GGUF file or an ONNX file. It is never changed.
          </Dialog.Description>
          <Browser recents={recents} onDone={() => setOpen(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Browser({ recents, onDone }: { recents: readonly LibraryModel[]; onDone(): void }) {
  const [path, setPath] = useState('')
  const [folder, setFolder] = useState('')
  const run = useRun()
  const listing = useQuery({
    queryKey: ['folders', folder],
    queryFn: () => api.folders(folder),
    placeholderData: keepPreviousData,
    staleTime: 0,
    retry: false,
  })
  // What opening writes; whatever is wrong with the path is said when it is opened.
  const asked = useDeferredValue(path.trim())
  const cost = useQuery({
    queryKey: ['open-cost', asked],
    queryFn: ({ signal }) => api.openCost(asked, signal),
    enabled: asked !== '',
    staleTime: 0,
    retry: false,
  })
  const opening = useMutation({
    mutationFn: async (wanted: string) => {
      const model = await api.openModel(wanted)
      onDone()
      const text = run.data?.text
      // From here on problems are shown by the jobs and the views.
      void openCheckpoint(model.path, text != null && model.tokenizer ? { text } : undefined).catch(
        () => undefined,
      )
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (path.trim() !== '') opening.mutate(path.trim())
  }
  const problem = opening.error ?? (listing.isError ? listing.error : null)

  return (
    <form className="browser" onSubmit={submit}>
      <div className="path-line">
        <input
          className="input"
          aria-label="Path of the checkpoint"
          placeholder="/path/to/checkpoint"
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: a dialog that asks for a path
          autoFocus
          value={path}
          aria-invalid={opening.isError}
          onChange={(event) => {
            setPath(event.target.value)
            opening.reset()
          }}
        />
        <button type="submit" className="button primary" disabled={path.trim() === '' || opening.isPending}>
          {opening.isPending ? 'Opening…' : 'Open'}
        </button>
      </div>
      <p className="problem dialog-problem" role="alert">
        {problem?.message ?? ''}
      </p>
      {asked !== '' && cost.data && !problem && <Cost cost={cost.data} />}
      <div className="crumbs">
        <button
          type="button"
          className="button small"
          disabled={!listing.data?.parent}
          onClick={() => setFolder(listing.data?.parent ?? '')}
        >
          ↑ Up
        </button>
        <span className="clip mono">{listing.data?.path ?? '…'}</span>
      </div>
      <ul className="folders" aria-label="Folders">
        {listing.data?.entries.map((entry) => (
          <li key={entry.path}>
            <button
              type="button"
              className="folder-row"
              onClick={() => {
                if (entry.checkpoint) setPath(entry.path)
                else setFolder(entry.path)
              }}
              onDoubleClick={() => (entry.checkpoint ? opening.mutate(entry.path) : undefined)}
            >
              <span
                className={entry.checkpoint ? 'folder-icon is-checkpoint' : 'folder-icon'}
                aria-hidden="true"
              />
              <span className="clip">{entry.name}</span>
              {entry.checkpoint && <i className="count">checkpoint</i>}
            </button>
          </li>
        ))}
        {listing.data?.entries.length === 0 && <li className="library-none">No folders in here.</li>}
      </ul>
      <div className="dialog-foot">
        {recents.length > 0 && <span className="muted">Recent</span>}
        {recents.slice(0, 4).map((m) => (
          <button
            type="button"
            key={m.path}
            className="button small"
            title={m.path}
            onClick={() => opening.mutate(m.path)}
          >
            {m.name}
          </button>
        ))}
        <span className="spacer" />
        {desktop && (
          <Dialog.Close className="button" onClick={() => desktop?.chooseCheckpoint()}>
            System dialog…
          </Dialog.Close>
        )}
        <Dialog.Close className="button">Cancel</Dialog.Close>
      </div>
    </form>
  )
}

/** The working copy that opening makes, where it makes one. */
function Cost({ cost: { writes, free, cache } }: { cost: OpenCost }) {
  if (writes === 0) return <p className="muted open-cost">Opens in place: nothing is written.</p>
  const short = free !== null && writes > free
  return (
    <p className={short ? 'problem open-cost' : 'muted open-cost'} role={short ? 'alert' : undefined}>
      Opening writes {size(writes)} once, a float32 working copy in {cache}
      {free === null
        ? '.'
        : short
          ? `, where only ${size(free)} are free.`
          : `; ${size(free)} are free there.`}
    </p>
  )
}
