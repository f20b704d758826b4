/** Heads by their change from the first scored step to the shown one, with intervals. */
import { signedWeight } from '../../state/format.ts'
import { headName, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { scoreText } from '../../ui/score-text.ts'
import { changesOf, type Step } from './curves.ts'

export function ChangeTable({ steps, at, score }: { steps: readonly Step[]; at: number; score: string }) {
  const selected = useSelection((s) => s.head)
  const first = steps.find((s) => s.scan)
  const now = steps[at]
  const changes =
    first?.scan && now?.scan && first !== now ? changesOf(first.scan.heads, now.scan.heads, score) : []
  return (
    <section className="ranked" aria-label="Heads by change">
      <h3 className="pane-title">
        Changed{' '}
        <span>
          {first && now && first !== now
            ? `${first.at} → ${now.at}`
            : now?.scan
              ? 'choose a later step'
              : 'this step is not scored'}
        </span>
      </h3>
      <ol className="ranked-list">
        {changes.slice(0, 200).map((change) => (
          <li key={headName(change)}>
            <button
              type="button"
              className={sameHead(selected, change) ? 'effect-line is-selected' : 'effect-line'}
              aria-pressed={sameHead(selected, change)}
              title={`${headName(change)}: ${scoreText(change.from)} → ${scoreText(change.to)}, n = ${change.to.n}${change.clear === null ? '; no intervals' : change.clear ? '' : '; the intervals meet'}`}
              onClick={() => select({ head: { layer: change.layer, head: change.head } })}
            >
              <span className="head-name">
                {headName(change)}
                {change.clear === false ? ' ≈' : ''}
              </span>
              <SignedBar value={change.delta} most={1} />
              <span className="number">{signedWeight(change.delta)}</span>
            </button>
          </li>
        ))}
      </ol>
      {changes.some(({ clear }) => clear === false) && (
        <p className="muted small-text">≈ the 95 % intervals of the two steps meet</p>
      )}
    </section>
  )
}
