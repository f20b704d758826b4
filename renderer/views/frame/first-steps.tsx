/**
 * The first minutes: four steps that show the loop on the prompt that is open (see the head, its score, ablate it, the
 * prediction changes). One line above the views, never in the way; each step ticks itself, however it was reached.
 */
import { useState } from 'react'
import { useAbout, useInduction, useModel, useScan } from '../../api/queries.ts'
import { addEdit, isActive } from '../../state/edit-history.ts'
import { ablateHead } from '../../state/edits.ts'
import { examplesOpen } from '../../state/examples.ts'
import { formatScore, rankHeads } from '../../state/rank.ts'
import { headName, type Selection, sameHead } from '../../state/selection.ts'
import { select, useSelection } from '../../state/store.ts'

const KEY = 'headscope.first-steps'

export function FirstSteps() {
  const [closed, setClosed] = useState(remembered)
  const about = useAbout().data
  const model = useModel().data
  if (closed || !about?.start || !model || model.path !== about.start.model) return null
  return (
    <Steps
      onClose={() => {
        setClosed(true)
        try {
          localStorage.setItem(KEY, 'done')
        } catch {
          // storage is switched off: closed until the window closes
        }
      }}
    />
  )
}

function Steps({ onClose }: { onClose(): void }) {
  const selection = useSelection((s) => s)
  const scan = useScan().data
  const places = useInduction().data
  const best = scan && rankHeads(scan.heads, 'induction')[0]
  const [seen, setSeen] = useState(0)
  if (!best || !places) return null
  const head = { layer: best.layer, head: best.head }
  const name = headName(head)
  const weights = places.heads.find((h) => sameHead(h, head))?.weights ?? []
  const strongest = weights.indexOf(Math.max(...weights))
  const pair = places.pairs[strongest]
  if (!pair) return null
  const steps: readonly { says: string; done: (s: Selection) => boolean; show: () => void }[] = [
    {
      says: `${name} looks at what followed last time`,
      done: (s) => sameHead(s.head, head) && s.query !== null && s.key !== null,
      show: () => select({ head, query: pair.query, key: pair.target, also: [] }),
    },
    {
      says: `its induction score is ${formatScore(best.scores.induction)}`,
      done: (s) => s.tab === 'heads' && s.score === 'induction' && s.tiles === 'scores',
      show: () => select({ tab: 'heads', score: 'induction', tiles: 'scores', head }),
    },
    {
      says: 'ablate it',
      done: (s) => isActive(s.edits, ablateHead(head)),
      show: () => addEdit(ablateHead(head)),
    },
    {
      says: 'the prediction has changed →',
      done: (s) => isActive(s.edits, ablateHead(head)) && s.query === pair.query && s.tiles !== 'scores',
      show: () => {
        if (!isActive(selection.edits, ablateHead(head))) addEdit(ablateHead(head))
        select({ query: pair.query, key: pair.target, tiles: 'auto' })
      },
    },
  ]
  let at = seen
  while (at < steps.length && steps[at]!.done(selection)) at++
  if (at > seen) setSeen(at) // a step that was done stays done
  return (
    <section className="first-steps" aria-label="First steps">
      <ol>
        {steps.map((step, i) => (
          <li key={step.says} className={i < at ? 'is-done' : i === at ? 'is-next' : ''}>
            <i aria-hidden="true">{i < at ? '✓' : i + 1}</i>
            {i === at ? (
              <button
                type="button"
                className="link"
                onClick={() => {
                  step.show()
                  setSeen(Math.max(seen, i + 1))
                }}
              >
                {step.says}
              </button>
            ) : (
              <span>{step.says}</span>
            )}
          </li>
        ))}
      </ol>
      <span className="spacer" />
      {at === steps.length && (
        <span className="muted">
          That is the loop.{' '}
          <button type="button" className="link" onClick={() => examplesOpen.set(true)}>
            Twelve more examples
          </button>
        </span>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label="Close the first steps"
        title="Close"
        onClick={onClose}
      >
        ✕
      </button>
    </section>
  )
}

function remembered(): boolean {
  try {
    return localStorage.getItem(KEY) === 'done'
  } catch {
    return false
  }
}
