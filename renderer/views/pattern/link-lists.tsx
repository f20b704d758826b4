/**
 * Where one query looks, and who looks at one key: the row and the column of the hovered or locked cell, as bars. Several
 * locked queries are averaged. With two readings: both numbers and their difference, ordered by its size.
 */
import type { ReactNode } from 'react'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { meanOfRows, type Reading } from '../../charts/reading.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import type { Form } from '../../state/selection.ts'
import { setHover, toggleCell, useHover, useSelection } from '../../state/store.ts'

interface Props {
  readonly reading: Reading
  /** The same cells before. */
  readonly before?: Reading | null
  readonly tokens: readonly TokenView[]
  /** The tokens of the cells before, where they are other ones. */
  readonly tokensBefore?: readonly TokenView[] | null
  readonly rows: number
  /** How the cells are drawn: what is pointed at is then called by its name. */
  readonly form: Form
  /** Stands below the lists. */
  readonly children?: ReactNode
}

/** Where to point for the second list. */
const POINT_AT: Readonly<Record<Form, string>> = {
  matrix: 'hover a cell: who looks at its key',
  arcs: 'hover an arc: who looks at its key',
  text: 'hover a row above: who looks at it',
}

export function LinkLists(props: Props) {
  const { reading, before = null, tokens, tokensBefore = null, rows, form, children } = props
  const over = useHover()
  const lockedQuery = useSelection((s) => s.query)
  const lockedKey = useSelection((s) => s.key)
  const also = useSelection((s) => s.also)
  const last = reading.size - 1
  const query = Math.min(lockedQuery ?? over.query ?? last, last)
  const key = lockedKey ?? over.key
  const queries = lockedQuery === null ? [query] : [query, ...also.filter((q) => q <= last)]
  const row = items(reading, before, rows, (r, k) => meanOfRows(r, queries, k))
  const other = (at: number) =>
    tokensBefore && tokensBefore[at]?.text !== tokens[at]?.text ? (
      <span className="muted">
        {' '}
        held <q>{tokensBefore[at]?.text ?? 'none'}</q>
      </span>
    ) : null
  const column = key === null || key > last ? null : items(reading, before, rows, (r, q) => r.at(q, key))
  return (
    <div className={before ? 'link-lists is-pair' : 'link-lists'}>
      <section aria-label="Where the query looks">
        <h4>
          {queries.length > 1 ? (
            `mean of queries ${[...queries].sort((a, b) => a - b).join(', ')} looks at`
          ) : (
            <>
              query {query} <q>{tokens[query]?.text}</q>
              {other(query)} looks at
            </>
          )}
        </h4>
        <List
          items={row}
          tokens={tokens}
          tokensBefore={tokensBefore}
          onPick={(k) => toggleCell(query, k)}
          onOver={(k) => setHover(query, k)}
          signed={reading.signed}
          most={reading.most}
          compared={before !== null || reading.signed}
        />
      </section>
      <section aria-label="Who looks at the key">
        {column === null || key === null ? (
          <h4 className="muted">{POINT_AT[form]}</h4>
        ) : (
          <>
            <h4>
              key {key} <q>{tokens[key]?.text}</q>
              {other(key)} is seen by
            </h4>
            <List
              items={column}
              tokens={tokens}
              tokensBefore={tokensBefore}
              onPick={(q) => toggleCell(q, key)}
              onOver={(q) => setHover(q, key)}
              signed={reading.signed}
              most={reading.most}
              compared={before !== null || reading.signed}
            />
          </>
        )}
      </section>
      <div className="link-foot">{children}</div>
    </div>
  )
}

interface Item {
  readonly at: number
  readonly weight: number
  readonly before: number | null
}

interface ListProps {
  readonly items: readonly Item[]
  readonly tokens: readonly TokenView[]
  readonly tokensBefore: readonly TokenView[] | null
  readonly signed: boolean
  /** The value of a full bar. */
  readonly most: number
  /** Whether two readings are compared. */
  readonly compared: boolean
  onPick(i: number): void
  onOver(i: number): void
}

function List(props: ListProps) {
  const { items: shown, tokens, tokensBefore, signed, most, compared, onPick, onOver } = props
  const held = (at: number) => {
    const text = tokensBefore?.[at]?.text
    return text === undefined || text === tokens[at]?.text ? null : text
  }
  if (shown.length === 0)
    return <p className="muted small-text">no cell of it is shown{compared ? ' on both sides' : ''}</p>
  return (
    <ol className="links">
      {shown.map(({ at, weight, before }) => (
        <li key={at}>
          <button
            type="button"
            className="link-row"
            title={`${at} ${tokens[at]?.text ?? ''}`}
            onClick={() => onPick(at)}
            onPointerEnter={() => onOver(at)}
            onPointerLeave={() => setHover(null, null)}
          >
            <span className="index">{at}</span>
            <span className="token-text" {...(held(at) ? { title: `held: ${held(at)}` } : {})}>
              {held(at) !== null && <s>{held(at)}</s>}
              {tokens[at]?.text}
            </span>
            {before !== null && (
              <>
                <Bar value={before / most} look="bar-before" />
                <span className="number muted">{preciseWeight(before)}</span>
              </>
            )}
            <Bar value={weight / most} look={signed && weight < 0 ? 'bar-minus' : ''} />
            <span className="number">{signed ? signedWeight(weight) : preciseWeight(weight)}</span>
            {before !== null && (
              <span
                className={`number ${weight < before ? 'is-less' : weight > before ? 'is-more' : 'muted'}`}
              >
                {signedWeight(weight - before)}
              </span>
            )}
          </button>
        </li>
      ))}
    </ol>
  )
}

function Bar({ value, look }: { value: number; look: string }) {
  return (
    <span className="bar">
      <span className={`bar-fill ${look}`} style={{ width: `${Math.min(100, Math.abs(value) * 100)}%` }} />
    </span>
  )
}

/** The largest values of a row or column, falling; what is hidden or does not exist is left out. */
export function strongest(
  size: number,
  count: number,
  weight: (i: number) => number | null,
): { at: number; weight: number }[] {
  const found: { at: number; weight: number }[] = []
  for (let at = 0; at < size; at++) {
    const w = weight(at)
    if (w !== null) found.push({ at, weight: w })
  }
  return found.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || a.at - b.at).slice(0, count)
}

function items(
  reading: Reading,
  before: Reading | null,
  count: number,
  value: (reading: Reading, i: number) => number | null,
): Item[] {
  if (!before)
    return strongest(reading.size, count, (i) => value(reading, i)).map((item) => ({ ...item, before: null }))
  const change = (i: number) => {
    const [a, b] = [value(reading, i), value(before, i)]
    return a === null || b === null ? null : a - b
  }
  return strongest(reading.size, count, change).map(({ at }) => ({
    at,
    weight: value(reading, at)!,
    before: value(before, at)!,
  }))
}
