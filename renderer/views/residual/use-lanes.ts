/**
 * The lanes of the residual stream: what is chosen, and what is asked of the engine. In: the selected run, another prompt,
 * the address. Out: the tokens and lenses of both, the chosen cells, the carried one, and what a click or a drag does.
 */
import { useState } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { actingEdits } from '../../state/edits.ts'
import { promptWith } from '../../state/prompt-of.ts'
import { select, setTool, useSelection, useTool } from '../../state/store.ts'
import { useGivenTokens } from '../sweeps/given-tokens.ts'
import {
  borderName,
  type CellRef,
  formatCarry,
  formatCell,
  type Place,
  parseCarry,
  parseCell,
} from './cells.ts'
import { useLensChoices } from './lens-choices.ts'
import { type LensSource, pageOf, useLens } from './lens-grid.tsx'
import { useOther } from './use-other.ts'

export type Lanes = ReturnType<typeof useLanes>

export function useLanes(model: OpenedModel, run: RunDetail) {
  const { which } = useLensChoices()
  const query = useSelection((s) => s.query)
  const edits = actingEdits(useSelection((s) => s.edits))
  const other = useOther(model, run)
  const [border] = useTool<string>('border', '')
  const [otherCell] = useTool<string>('othercell', '')
  const [carried, setCarried] = useTool<string>('carry', '')
  const [kind, setKind] = useTool<'below' | 'start' | 'cell'>('since', 'below')
  const [sinceText] = useTool<string>('sincecell', '')
  const [held, setHeld] = useState<CellRef | null>(null)
  const { answer } = useGivenTokens(model)

  const last = model.spec.n_layers
  const views = { this: run.views, other: other.views }
  const ids = { this: run.views.map((view) => view.id), other: other.views.map((view) => view.id) }
  const limits = { borders: last + 1, lengths: { this: views.this.length, other: views.other.length } }
  const own = query === null ? null : parseCell(`t${Math.min(Number(border), last)}.${query}`, limits)
  const mine = border === '' ? null : own
  const theirs = parseCell(otherCell, limits)
  const since = parseCell(sinceText, limits)
  const carry = parseCarry(carried, limits)
  const cell = theirs ?? mine
  const asked = { model: model.path, top: 5, ...(answer ? { answer: answer.id } : {}) }
  const acting = which === 'edited' ? edits : []

  const lensOf = (side: 'this' | 'other', with_: typeof edits): LensSource => ({
    key: [model.path, ids[side], answer?.id ?? null, with_],
    ask: (positions, signal) =>
      api.lens(
        {
          ...asked,
          prompt: promptWith(run, ids[side]),
          positions,
          ...(with_.length > 0 ? { edits: with_ } : {}),
        },
        signal,
      ),
  })
  const patched: LensSource | null = carry && {
    key: [model.path, ids, answer?.id ?? null, carried, acting],
    ask: (positions, signal) => {
      const at = ({ side, border, pos }: CellRef) => ({
        prompt: promptWith(run, ids[side]),
        border,
        pos,
        ...(side === 'this' && acting.length > 0 ? { edits: acting } : {}),
      })
      return api.patched({ ...asked, positions, from: at(carry.from), to: at(carry.to) }, signal)
    },
  }
  const source = { this: lensOf('this', acting), other: lensOf('other', []) }
  const side = cell?.side ?? 'this'
  const around = useLens(cell ? source[side] : null, pageOf(views[side].length, cell?.pos ?? 0))

  const pick = (at: 'this' | 'other') => (place: Place | null, compare: boolean) => {
    if (compare && place && cell) {
      setTool('sincecell', formatCell({ side: at, ...place }))
      return setKind('cell')
    }
    if (at === 'other') return setTool('othercell', place ? formatCell({ side: at, ...place }) : '')
    setTool('othercell', '')
    setTool('border', place ? String(place.border) : '')
    return select({ query: place?.pos ?? null, key: null, also: [] }, { replace: true })
  }
  const drop = (at: 'this' | 'other') => (place: Place) => {
    if (held) setCarried(formatCarry({ from: held, to: { side: at, ...place } }))
    setHeld(null)
  }
  const drag = (at: 'this' | 'other') => (place: Place) => setHeld({ side: at, ...place })
  const name = (at: CellRef) =>
    `${borderName(at.border, last)} · ${at.pos} ‘${views[at.side][at.pos]?.text ?? ''}’ of ${at.side === 'this' ? 'this prompt' : 'the other prompt'}`
  return {
    /** The locked position of the prompt, whether a cell is chosen there or not. */
    query: query !== null && query < run.views.length ? query : null,
    edits,
    acting,
    other,
    answer,
    asked,
    views,
    ids,
    cell,
    /** The chosen cell of each prompt. */
    chosen: { this: theirs ? null : mine, other: theirs },
    since,
    kind,
    setKind,
    carry,
    setCarried,
    held,
    setHeld,
    source,
    /** This prompt without the edits. */
    plain: lensOf('this', []),
    patched,
    /** The page of the lens that the chosen cell is on. */
    around: around.data,
    pick,
    drag,
    drop,
    name,
  }
}
