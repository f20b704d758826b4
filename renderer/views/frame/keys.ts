/**
 * The keys of the window. In: keydown events. Out: a changed selection or edit stack. Letters work wherever nothing is
 * written; arrows and Enter only while nothing has the focus, because whatever has it uses them itself;
 * a view's panel, which a click into it focuses, uses them only where it scrolls.
 */
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { queryClient } from '../../api/query-client.ts'
import { carryOut, desktop, helpOpen, openProblem, paletteOpen } from '../../state/desktop.ts'
import { redoEdit, toggleAblation, toggleEdit, undoEdit } from '../../state/edit-history.ts'
import { knockOut } from '../../state/edits.ts'
import { hold } from '../../state/hold.ts'
import { memberBeside } from '../../state/model-name.ts'
import { openWithPrompt } from '../../state/open.ts'
import { togglePin } from '../../state/pins.ts'
import { walked } from '../../state/selection.ts'
import { getSelection, select } from '../../state/store.ts'
import { VIEWS } from '../index.ts'

/** Begins to listen. Called once, when the app starts. */
export function connectKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || paletteOpen.get() || helpOpen.get()) return
    const command = event.ctrlKey || event.metaKey
    const done = command
      ? withCommand(event)
      : !event.altKey && ((isIdle(event.target) && walk(event.key)) || letter(event))
    if (done) event.preventDefault()
  })
}

function withCommand(event: KeyboardEvent): boolean {
  const key = event.key.toLowerCase()
  if (key === 'z' && !writes(event.target)) return event.shiftKey ? redoEdit() : undoEdit()
  if (desktop) return false // the shell's menu has the other keys
  if (key === 'k') carryOut('palette')
  else if (key === '/') carryOut('shortcuts')
  else return false
  return true
}

function isIdle(target: EventTarget | null): boolean {
  if (target === document.body) return true
  return (
    target instanceof HTMLElement &&
    target.getAttribute('role') === 'tabpanel' &&
    target.scrollHeight <= target.clientHeight
  )
}

function walk(key: string): boolean {
  const now = getSelection()
  const model = queryClient.getQueryData<OpenedModel>(['model', now.model])
  const next = model && walked(key, now.head, model.spec)
  if (next) select({ head: next })
  else if (key === 'Enter' && now.head) select({ tab: 'pattern' })
  else return false
  return true
}

function letter(event: KeyboardEvent): boolean {
  if (writes(event.target) || document.querySelector('[role=dialog][data-open]')) return false
  const { head, query, key, run } = getSelection()
  const view = /^[1-9]$/.test(event.key) ? VIEWS[Number(event.key) - 1] : undefined
  if (view) {
    select({ tab: view.id })
    return true
  }
  switch (event.key.toLowerCase()) {
    case 'escape':
      select({ query: null, key: null, also: [] }, { replace: true })
      return true
    case '?':
      helpOpen.set(true)
      return true
    case '/':
      focusFilter()
      return true
    case 'a':
      if (head) toggleAblation(head)
      return true
    case 'p':
      if (head) togglePin(head)
      return true
    case 'h':
      if (head && run !== null) hold()
      return true
    case 'x':
      if (head && query !== null && key !== null) toggleEdit(knockOut(head, query, key))
      return true
    case 'e':
      document.querySelector<HTMLElement>('.edit-prompt')?.click()
      return true
    case '[':
    case ']':
      return openNeighbour(event.key === '[' ? -1 : 1)
    default:
      return false
  }
}

/** The checkpoint before or after this one in its training series, with the same prompt. */
function openNeighbour(step: number): boolean {
  const { model: path, run } = getSelection()
  const model = queryClient.getQueryData<OpenedModel>(['model', path])
  const next = model && memberBeside(model.series, model.path, step)
  if (!next) return false
  openWithPrompt(next.path, queryClient.getQueryData<RunDetail>(['run', run])).catch((error: Error) =>
    openProblem.set(error.message),
  )
  return true
}

/** The filter of the head browser. */
function focusFilter(): void {
  select({ tab: 'heads' })
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
}

function writes(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  )
}
