/**
 * What two patterns beside each other are called. In: two runs and their heads. Out: for each the parts in which they
 * differ: head, checkpoint, prompt (from shortly before the first difference), edits, else the number of the run. Pure.
 */
import type { RunDetail } from '../../../core/api/contract.ts'
import { type HeadId, headName } from '../../state/selection.ts'

export interface NamedRun {
  readonly run: Pick<RunDetail, 'id' | 'text' | 'views' | 'edits'>
  /** What its checkpoint is called. */
  readonly model: string
}

export interface Named extends NamedRun {
  readonly head: HeadId
}

const BEFORE = 14 // characters of a text that are kept before the first difference
const LONG = 44

/** Names of both, in order. */
export function sideNames(a: Named, b: Named): [string, string] {
  const [runA, runB] = runNames(a, b)
  const name = ({ head }: Named, run: string) => [headName(head), run].filter(Boolean).join(' · ')
  return [name(a, runA), name(b, runB)]
}

/** The same without heads; empty for one and the same run. */
export function runNames(a: NamedRun, b: NamedRun): [string, string] {
  if (a.run.id === b.run.id) return ['', '']
  const [textA, textB] = [textOf(a), textOf(b)]
  const model = a.model !== b.model
  const text = textA !== textB
  const edits = a.run.edits !== b.run.edits
  const cut = text ? cutBefore(textA, textB) : 0
  const name = (side: NamedRun, whole: string) =>
    [
      ...(model ? [side.model] : []),
      ...(text ? [`“${excerpt(whole, cut)}”`] : []),
      ...(edits ? [side.run.edits === 0 ? 'no edits' : `${side.run.edits} edited`] : []),
      ...(model || text || edits ? [] : [`run ${side.run.id}`]),
    ].join(' · ')
  return [name(a, textA), name(b, textB)]
}

function textOf({ run }: NamedRun): string {
  return run.text ?? run.views.map((view) => view.text).join(' ')
}

/** Where both are cut: at the word that stands shortly before their first difference. */
function cutBefore(a: string, b: string): number {
  let same = 0
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++
  if (same <= BEFORE) return 0
  const space = a.indexOf(' ', same - BEFORE)
  return space >= 0 && space < same ? space + 1 : same - BEFORE
}

function excerpt(text: string, cut: number): string {
  const rest = text.slice(cut)
  return `${cut > 0 ? '…' : ''}${rest.slice(0, LONG)}${rest.length > LONG ? '…' : ''}`
}
