/** Heads by falling score, with bars and intervals. A click selects. */
import type { HeadScores } from '../../../core/analysis/types.ts'
import { ScoreBar } from '../../charts/score-bar.tsx'
import { formatScore, scoreLabel } from '../../state/rank.ts'
import { headName, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { scoreText } from '../../ui/score-text.ts'

const SHOWN = 300

interface Props {
  readonly heads: readonly HeadScores[]
  readonly score: string
  /** Notes by head name. */
  readonly noted: ReadonlyMap<string, string>
}

export function RankedList({ heads, score, noted }: Props) {
  const selected = useSelection((s) => s.head)
  const lacks = heads.length > 0 && heads.every((h) => h.scores[score] === undefined)
  return (
    <section className="ranked" aria-label={`Heads ranked by ${scoreLabel(score)}`}>
      <h3 className="pane-title">
        Ranked <span>{scoreLabel(score)}</span>
      </h3>
      {lacks && (
        <p className="muted small-text">
          This checkpoint was not scored by {scoreLabel(score)}: choose another score.
        </p>
      )}
      <ol className="ranked-list">
        {(lacks ? [] : heads).slice(0, SHOWN).map((h, i) => {
          const on = sameHead(selected, h)
          const note = noted.get(headName(h))
          return (
            <li key={headName(h)}>
              <button
                type="button"
                className={on ? 'ranked-row is-selected' : 'ranked-row'}
                aria-pressed={on}
                title={`${headName(h)} · ${scoreLabel(score)} ${scoreText(h.scores[score])} · n = ${h.scores[score]?.n ?? 0} sequences${note ? `\nnote: ${note}` : ''}`}
                onClick={() => select({ head: { layer: h.layer, head: h.head } })}
              >
                <span className="rank">{i + 1}</span>
                <span className={note ? 'head-name has-note' : 'head-name'}>{headName(h)}</span>
                <ScoreBar score={h.scores[score]} />
                <span className="number">{formatScore(h.scores[score]) || '–'}</span>
              </button>
            </li>
          )
        })}
      </ol>
      {!lacks && heads.length > SHOWN && (
        <p className="muted small-text">
          The first {SHOWN} of {heads.length}; filter to see others.
        </p>
      )}
      {heads.length === 0 && <p className="muted small-text">No head fits the filter.</p>}
    </section>
  )
}
