/** Who wrote a difference of residuals: heads, MLPs, embeddings, by their share. A click on a head selects it. */
import type { ChangeReply } from '../../../core/api/contract.ts'
import { signedWeight } from '../../state/format.ts'
import { parseHead } from '../../state/selection.ts'
import { select } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'

const SHOWN = 24

export function WriterList({ change }: { change: ChangeReply }) {
  const { writers, distance } = change
  if (distance === 0) return <p className="muted">The two residuals are the same.</p>
  const most = Math.max(...writers.map(({ share }) => Math.abs(share)))
  return (
    <>
      <p className="muted small-text">
        distance {distance.toPrecision(3)}; shares along the difference, all {writers.length} sum to 1
      </p>
      <ol className="ranked-list">
        {writers.slice(0, SHOWN).map(({ name, share, norm }) => {
          const head = parseHead(name)
          return (
            <li key={name}>
              <button
                type="button"
                className="effect-line"
                disabled={!head}
                title={`${name}: length of its part ${norm.toPrecision(3)}`}
                onClick={() => head && select({ head })}
              >
                <span className="head-name">{name}</span>
                <SignedBar value={share} most={most} />
                <span className="number">{signedWeight(share)}</span>
              </button>
            </li>
          )
        })}
      </ol>
    </>
  )
}
