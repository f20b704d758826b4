/** A list of heads with a number as a bar from 0 to 1: a click selects. */
import { preciseWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { select } from '../../state/store.ts'

export interface HeadLine extends HeadId {
  /** null: there is none, which is not 0. */
  readonly value: number | null
  /** Said at the right; the value when absent. */
  readonly says?: string
  readonly title: string
}

const MOST = 400

export function HeadLines({ lines, shown }: { lines: readonly HeadLine[]; shown: string }) {
  return (
    <ol className="ranked-list">
      {lines.slice(0, MOST).map((line) => {
        const name = headName(line)
        return (
          <li key={name}>
            <button
              type="button"
              className={name === shown ? 'head-line is-selected' : 'head-line'}
              aria-pressed={name === shown}
              title={line.title}
              onClick={() => select({ head: { layer: line.layer, head: line.head } })}
            >
              <span className="head-name">{name}</span>
              {line.value === null ? (
                <span className="bar bar-none" />
              ) : (
                <span className="bar">
                  <span className="bar-fill" style={{ width: `${Math.min(1, line.value) * 100}%` }} />
                </span>
              )}
              <span className="number">
                {line.says ?? (line.value === null ? '–' : preciseWeight(line.value))}
              </span>
            </button>
          </li>
        )
      })}
    </ol>
  )
}
