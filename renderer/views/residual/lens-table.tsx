/** Block borders upwards, positions to the right; each cell is the likeliest next token there. */
import type { KeyboardEvent } from 'react'
import type { LensCell } from '../../../core/analysis/lens.ts'
import type { LensReply, RunDetail } from '../../../core/api/contract.ts'
import { isDark, weightColor } from '../../charts/color.ts'
import { preciseWeight } from '../../state/format.ts'
import { getSelection, select, setHover, useHover, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'

export type LensColour = 'probability' | 'entropy' | 'loss' | 'answer'

interface Props {
  readonly lens: LensReply
  readonly run: RunDetail
  readonly vocab: number
  readonly colour: LensColour
  readonly border: number | null
  readonly onPick: (border: number | null) => void
}

const MOST_LOSS = 8

export function LensTable({ lens, run, vocab, colour, border, onPick }: Props) {
  const theme = useTheme()
  const over = useHover()
  const locked = useSelection((s) => s.query)
  const rows = [...lens.layers].sort((a, b) => b.layer - a.layer)
  const last = rows[0]?.layer ?? 0
  const positions = rows[0]?.positions.map((cell) => cell.pos) ?? []
  const pick = (layer: number, pos: number) => {
    const same = border === layer && locked === pos
    onPick(same ? null : layer)
    select({ query: same ? null : pos, key: null, also: [] }, { replace: true })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    if (!step) return
    const layer = Math.min(last, Math.max(0, (border ?? last) + step[0]!))
    const at = positions.indexOf(getSelection().query ?? positions[0] ?? 0)
    const pos = positions[Math.min(positions.length - 1, Math.max(0, at + step[1]!))] ?? 0
    onPick(layer)
    select({ query: pos, key: null, also: [] }, { replace: true })
    event.preventDefault()
    event.stopPropagation()
    event.currentTarget.querySelector<HTMLElement>(`[data-cell="${layer}.${pos}"]`)?.focus()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows move between the buttons inside
    <div
      ref={bringIntoView}
      className="lens-scroll"
      onKeyDown={onKeyDown}
      onPointerLeave={() => setHover(null, null)}
    >
      <table className="lens" aria-label="What the model would say at each block border">
        <thead>
          <tr>
            <th scope="col" className="lens-corner">
              border
            </th>
            {positions.map((pos) => (
              <th
                key={pos}
                scope="col"
                className={`${pos === locked ? 'is-locked' : ''}${pos === over.query ? ' is-hovered' : ''}`}
              >
                <i>{pos}</i>
                <span className="token-text">{run.views[pos]?.text}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ layer, positions: cells }) => (
            <tr key={layer}>
              <th scope="row">{layer === last ? 'end' : layer === 0 ? 'in' : `L${layer}`}</th>
              {cells.map((cell) => {
                const t = cellPosition(cell, colour, vocab)
                const top = cell.top[0]
                const word = top ? (lens.words[top.id]?.text ?? String(top.id)) : '∅'
                const next = run.views[cell.pos + 1]?.id
                return (
                  <td key={cell.pos}>
                    <button
                      type="button"
                      data-cell={`${layer}.${cell.pos}`}
                      tabIndex={layer === (border ?? last) && cell.pos === (locked ?? positions[0]) ? 0 : -1}
                      className={`lens-cell token-text${t === null ? ' is-undefined' : ''}${layer === border && cell.pos === locked ? ' is-selected' : ''}${top?.id === next ? ' is-right' : ''}`}
                      style={
                        t === null
                          ? {}
                          : {
                              background: weightColor(theme, t),
                              color: isDark(theme, t) ? '#fff' : '#16202f',
                            }
                      }
                      title={describe(cell, lens)}
                      onPointerEnter={() => setHover(cell.pos, null)}
                      onClick={() => pick(layer, cell.pos)}
                    >
                      {word}
                    </button>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A locked position is in view from the start. */
function bringIntoView(host: HTMLDivElement | null): void {
  const column = host?.querySelector<HTMLElement>('th.is-locked')
  if (host && column) host.scrollLeft = Math.max(0, column.offsetLeft - host.clientWidth / 2)
}

/** Where a cell stands on the ramp; null: it has no such value. */
export function cellPosition(cell: LensCell, colour: LensColour, vocab: number): number | null {
  if (colour === 'answer') return cell.prob
  if (colour === 'entropy') return cell.entropy === null ? null : cell.entropy / Math.log(vocab)
  if (colour === 'loss') return cell.loss === null ? null : Math.min(1, cell.loss / MOST_LOSS)
  return cell.top[0]?.prob ?? null
}

function describe(cell: LensCell, lens: LensReply): string {
  const top = cell.top.map(
    (t) => `${lens.words[t.id]?.text ?? t.id}  ${t.prob === null ? 'undefined' : preciseWeight(t.prob)}`,
  )
  const facts = [
    cell.entropy === null ? '' : `entropy ${cell.entropy.toFixed(2)} nats`,
    cell.loss === null ? '' : `loss ${cell.loss.toFixed(2)} nats`,
    cell.rank === null ? '' : `answer at rank ${cell.rank + 1}`,
  ]
  return [...top, ...facts.filter(Boolean)].join('\n')
}
