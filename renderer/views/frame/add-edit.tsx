/** Adds an edit by its parts: where (a hook of this model, head, positions) and what (zero, scale, add or set values). */
import { Popover } from '@base-ui/react/popover'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { Edit } from '../../../core/run/types.ts'
import { useRun } from '../../api/queries.ts'
import { addEdit } from '../../state/edit-history.ts'
import { getSelection } from '../../state/store.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { besideSource } from './beside-source.ts'
import { isMean, MEAN_OVER, SOURCE_FIELDS, SOURCES, type SourceKind, valuesIn } from './edit-source.ts'

const OPS = [
  { value: 'zero', label: 'zero' },
  { value: 'scale', label: 'scale by' },
  { value: 'add', label: 'add' },
  { value: 'set', label: 'set to' },
] as const

const SELECTORS = ['head', 'kv_head', 'pos', 'query', 'key'] as const

export function AddEdit({ model }: { model: OpenedModel }) {
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger className="button small">Add edit…</Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} side="top">
          <Popover.Popup className="help edit-card">
            <Popover.Title className="dialog-title">Add an edit</Popover.Title>
            <EditForm model={model} onDone={() => setOpen(false)} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function EditForm({ model, onDone }: { model: OpenedModel; onDone(): void }) {
  const now = getSelection()
  const run = useRun()
  const [hook, setHook] = useState(`blocks.${now.head?.layer ?? 0}.hook_resid_pre`)
  const [op, setOp] = useState<Edit['op']>('zero')
  const [by, setBy] = useState('1')
  const [source, setSource] = useState<SourceKind>('number')
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({})
  const [places, setPlaces] = useState<Readonly<Record<string, string>>>({
    pos: now.query === null ? '' : String(now.query),
  })
  const known = model.hooks.find(({ name }) => name === hook)
  const axes = SELECTORS.filter((axis) => known?.shape.includes(axis))
  const takesValues = op === 'set' || op === 'add'
  const value = valuesIn(op, takesValues ? source : 'number', by, fields, model.spec.d_vocab)
  const problem = known ? value.problem : `This model has no hook “${hook}”.`
  const adding = useMutation({
    mutationFn: async (edit: Edit) =>
      addEdit(run.data?.source ? await besideSource(model, run.data.source, edit) : edit),
    onSuccess: onDone,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (problem) return
    const where = Object.fromEntries(
      axes.flatMap((axis) => {
        const text = (places[axis] ?? '').trim()
        if (text === '') return []
        return [
          [
            axis,
            /^-?\d+$/.test(text) ? Number(text) : text.includes(',') ? text.split(',').map(Number) : text,
          ],
        ]
      }),
    )
    adding.mutate({ hook, ...where, op, ...value.part })
  }
  return (
    <form className="edit-form" onSubmit={submit}>
      <label>
        hook
        <input
          className="input mono"
          list="hook-names"
          value={hook}
          spellCheck={false}
          aria-invalid={!known}
          onChange={(event) => setHook(event.target.value)}
        />
      </label>
      <datalist id="hook-names">
        {model.hooks.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {axes.map((axis) => (
        <label key={axis}>
          {axis.replace('_', '/')}
          <input
            className="input mono"
            placeholder="all · 3 · -1 · 2:5 · 1,4"
            value={places[axis] ?? ''}
            onChange={(event) => setPlaces({ ...places, [axis]: event.target.value })}
          />
        </label>
      ))}
      <div className="path-line">
        <Choice label="What to do" value={op} options={OPS} onChange={setOp} />
        {takesValues && (
          <Choice label="Where the values come from" value={source} options={SOURCES} onChange={setSource} />
        )}
        {op !== 'zero' && !(op === 'set' && source !== 'number') && (
          <input
            className="input mono edit-number"
            aria-label="Number"
            title={op === 'add' && source !== 'number' ? 'The values are multiplied with it' : undefined}
            value={by}
            onChange={(event) => setBy(event.target.value)}
          />
        )}
      </div>
      {takesValues &&
        SOURCE_FIELDS[source].map(([name, empty]) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: one of both is inside
          <label key={name}>
            {name}
            {name === 'texts' ? (
              <textarea
                className="input mono"
                rows={3}
                placeholder={empty}
                value={fields[name] ?? ''}
                spellCheck={false}
                onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
              />
            ) : (
              <input
                className="input mono"
                placeholder={empty}
                value={fields[name] ?? ''}
                spellCheck={false}
                onChange={(event) => setFields({ ...fields, [name]: event.target.value })}
              />
            )}
          </label>
        ))}
      {takesValues && isMean(source) && (
        <Segmented
          label="The mean is over"
          value={fields.over === 'pos' ? 'pos' : 'all'}
          options={MEAN_OVER}
          onChange={(over) => setFields({ ...fields, over })}
        />
      )}
      <div className="path-line">
        <span className="problem small-text">{problem ?? adding.error?.message ?? ''}</span>
        <span className="spacer" />
        <button type="submit" className="button primary" disabled={problem !== null}>
          Add
        </button>
      </div>
    </form>
  )
}
