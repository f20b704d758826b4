/** Adds an edit by its parts: where (a hook of this model, head, positions) and what (zero, scale, add, set). */
import { Popover } from '@base-ui/react/popover'
import { type FormEvent, useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { Edit } from '../../../core/run/types.ts'
import { addEdit } from '../../state/edit-history.ts'
import { getSelection } from '../../state/store.ts'
import { Choice } from '../../ui/select.tsx'

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
  const [hook, setHook] = useState(`blocks.${now.head?.layer ?? 0}.hook_resid_pre`)
  const [op, setOp] = useState<Edit['op']>('zero')
  const [by, setBy] = useState('1')
  const [places, setPlaces] = useState<Readonly<Record<string, string>>>({
    pos: now.query === null ? '' : String(now.query),
  })
  const known = model.hooks.find(({ name }) => name === hook)
  const axes = SELECTORS.filter((axis) => known?.shape.includes(axis))
  const number = Number(by)
  const problem = !known
    ? `This model has no hook “${hook}”.`
    : op !== 'zero' && !(by === '-inf' || Number.isFinite(number))
      ? 'Give a number.'
      : null
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
    const value = by === '-inf' ? ('-inf' as const) : number
    addEdit({
      hook,
      ...where,
      op,
      ...(op === 'scale' ? { by: number } : op === 'zero' ? {} : { value }),
    })
    onDone()
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
        {op !== 'zero' && (
          <input
            className="input mono"
            aria-label="Number"
            value={by}
            onChange={(event) => setBy(event.target.value)}
          />
        )}
        <span className="spacer" />
        <button type="submit" className="button primary" disabled={problem !== null}>
          Add
        </button>
      </div>
      <p className="problem">{problem ?? ''}</p>
    </form>
  )
}
