/** The frame's own actions: views, heads, checkpoints, prompts, runs, display, edits, window. In: what is open. Out: a list. */
import type { Library, OpenedModel, RunDetail, ScanReply } from '../../../core/api/contract.ts'
import type { Action } from '../../state/actions.ts'
import { helpOpen, openProblem } from '../../state/desktop.ts'
import { clearEdits, redoEdit, toggleAblation, undoEdit } from '../../state/edit-history.ts'
import { EXAMPLES, examplesOpen } from '../../state/examples.ts'
import { holdRun } from '../../state/hold.ts'
import { memberBeside } from '../../state/model-name.ts'
import { openRun, openWithPrompt, runStored } from '../../state/open.ts'
import { rankHeads, scoreLabel } from '../../state/rank.ts'
import { headName, type Selection } from '../../state/selection.ts'
import { showExample } from '../../state/show-example.ts'
import { select, setTool } from '../../state/store.ts'
import { currentTheme, toggleTheme } from '../../state/theme.ts'
import { range } from '../../ui/range.ts'
import type { ViewTab } from '../index.ts'
import { MASSES, WEIGHTINGS } from '../pattern/use-derived.ts'

interface Around {
  readonly views: readonly ViewTab[]
  readonly selection: Selection
  readonly library: Library | null
  readonly model: OpenedModel | null
  readonly run: RunDetail | null
  readonly scan: ScanReply | null
}

const MOST_HEADS = 4096

export function frameActions(around: Around): Action[] {
  const { views, selection, library, model, run, scan } = around
  const quietly = (work: Promise<unknown>) =>
    void work.catch((error: { code?: string; message: string }) => {
      if (error.code !== 'cancelled') openProblem.set(error.message)
    })
  const head = selection.head
  const out: Action[] = views.map((view, i) => ({
    id: `view.${view.id}`,
    group: 'View',
    title: `Open ${view.label}`,
    note: view.says,
    ...(i < 9 ? { keys: String(i + 1) } : {}),
    run: () => select({ tab: view.id }),
  }))
  const put = (group: string, title: string, go: () => void, extra: Partial<Action> = {}) =>
    out.push({ id: `${group}.${title}`, group, title, run: go, ...extra })

  if (head) {
    const name = headName(head)
    put('Head', `Ablate ${name}, or undo it`, () => toggleAblation(head), { keys: 'A' })
    if (run)
      put(
        'Head',
        `Hold ${name} beside what comes next`,
        () => select({ held: { run: run.id, head }, compare: 'both', tab: 'pattern' }),
        { keys: 'H' },
      )
  }
  if (head)
    put('Head', `Write a note on ${headName(head)}`, () => {
      document.querySelector<HTMLElement>('.inspector .note-text')?.focus()
    })
  if (run)
    put('Run', 'Hold this run beside the next prompt or checkpoint, head by head', holdRun, {
      ...(selection.held?.run === run.id ? { note: 'held' } : {}),
    })
  if (selection.held) put('Head', 'Let go of what is held', () => select({ held: null }), { keys: 'H' })
  if (selection.edits.length > 0) put('Edits', 'Remove all edits', clearEdits)
  put('Edits', 'Undo the last change of edits', undoEdit, { keys: 'Ctrl Z' })
  put('Edits', 'Redo', redoEdit, { keys: 'Ctrl Shift Z' })

  put('Pattern', selection.log ? 'Linear scale' : 'Log scale', () => select({ log: !selection.log }))
  for (const bos of ['show', 'hide', 'renormalise'] as const)
    if (bos !== selection.bos) put('Pattern', `First token: ${bos}`, () => select({ bos }))
  for (const [form, label] of [
    ['matrix', 'matrix'],
    ['arcs', 'arcs'],
    ['text', 'linked text'],
  ] as const)
    put('Pattern', `Draw as ${label}`, () => select({ form, tab: 'pattern' }))
  for (const { value, label } of WEIGHTINGS)
    if (value !== (selection.tool.weighting ?? 'weight'))
      put('Pattern', `Cells say ${label}`, () => setTool('weighting', value === 'weight' ? '' : value))
  for (const { value, label } of MASSES)
    if (value !== (selection.tool.mass ?? 'all'))
      put('Pattern', `Show ${label}`, () => setTool('mass', value === 'all' ? '' : value))
  for (const name of Object.keys(scan?.heads[0]?.scores ?? {}))
    put('Colour', `Colour heads by ${scoreLabel(name)}`, () => select({ score: name, tab: 'heads' }))

  if (model) {
    const best = scan ? rankHeads(scan.heads, selection.score)[0] : undefined
    if (best)
      put('Head', `Go to the strongest ${scoreLabel(selection.score)} head`, () =>
        select({ head: { layer: best.layer, head: best.head } }),
      )
    for (const [by, word, key] of [
      [-1, 'Previous', '['],
      [1, 'Next', ']'],
    ] as const) {
      const member = memberBeside(model.series, model.path, by)
      if (member)
        put(
          'Checkpoint',
          `${word} checkpoint: ${member.at}`,
          () => quietly(openWithPrompt(member.path, run)),
          {
            keys: key,
          },
        )
    }
  }
  for (const known of library?.models ?? []) {
    put('Checkpoint', `Open ${known.name}`, () => quietly(openWithPrompt(known.path, run)), {
      note: known.origin,
    })
    for (const member of known.series)
      put('Checkpoint', `Open ${known.name} ${member.at}`, () => quietly(openWithPrompt(member.path, run)))
  }
  for (const prompt of library?.prompts ?? []) {
    if (model && prompt.text !== null)
      put('Prompt', `Run “${prompt.text.slice(0, 90)}”`, () => quietly(runStored(model, prompt)))
  }
  for (const stored of [...(library?.runs ?? [])].reverse().slice(0, 200))
    put(
      'Run',
      `Show run ${stored.id}: ${(stored.text ?? `${stored.tokens} ids`).slice(0, 80)}`,
      () => quietly(openRun(stored)),
      {
        note: stored.edits > 0 ? `${stored.modelName}, ${stored.edits} edits` : stored.modelName,
      },
    )

  put('Example', 'All examples…', () => examplesOpen.set(true))
  for (const example of EXAMPLES) put('Example', example.title, () => showExample(example))

  put('Window', currentTheme() === 'dark' ? 'Switch to light' : 'Switch to dark', () =>
    toggleTheme(currentTheme()),
  )
  put('Window', 'Keys', () => helpOpen.set(true), { keys: '?' })
  put('Window', 'Copy the address of this state', () => quietly(navigator.clipboard.writeText(location.href)))
  put('Window', 'Open checkpoint…', () => document.querySelector<HTMLElement>('.open-button')?.click())
  put('Window', 'Edit the prompt', () => document.querySelector<HTMLElement>('.edit-prompt')?.click(), {
    keys: 'E',
  })
  return out
}

/** One action per head, for what was typed: a thousand of them are made only when somebody looks for a head. */
export function headActions(model: OpenedModel | null, typed: string): Action[] {
  if (!model || !/^\s*(l\s*\d|\d+\s*\.)/i.test(typed)) return []
  const { n_layers, n_heads } = model.spec
  if (n_layers * n_heads > MOST_HEADS) return []
  const wanted = typed.toLowerCase().replaceAll(/\s/g, '')
  return range(n_layers * n_heads).flatMap((i): Action[] => {
    const id = { layer: Math.floor(i / n_heads), head: i % n_heads }
    const name = headName(id)
    const fits = name.toLowerCase().startsWith(wanted) || `${id.layer}.${id.head}`.startsWith(wanted)
    if (!fits) return []
    return [{ id: `head.${name}`, group: 'Head', title: `Go to ${name}`, run: () => select({ head: id }) }]
  })
}
