/**
 * The first minutes: four steps that show the loop on the prompt that is open (see the head, its score, ablate it, the
 * prediction changes). One line above the views, never in the way; each step ticks itself, however it was reached.
 */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { InductionView, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { useAbout, useInduction, useModel, useRun, useScan } from '../../api/queries.ts'
import { addEdit, isActive } from '../../state/edit-history.ts'
import { ablateHead } from '../../state/edits.ts'
import { examplesOpen } from '../../state/examples.ts'
import { formatScore, rankHeads } from '../../state/rank.ts'
import { type HeadId, headName, type Selection, sameHead } from '../../state/selection.ts'
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
  const run = useRun().data
  const best = scan && rankHeads(scan.heads, 'induction')[0]
  const head = best ? { layer: best.layer, head: best.head } : null
  const [seen, setSeen] = useState(0)
  const telling = useQuery({
    queryKey: ['first-steps', run?.id, head && headName(head)],
    queryFn: () => tellingPlace(run!, head!, places!),
    enabled: run !== undefined && head !== null && places !== undefined,
  })
  if (!best || !head || !telling.data) return null
  const name = headName(head)
  const { pair, says: change } = telling.data
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
      show: () => {
        addEdit(ablateHead(head))
        select({ compare: 'before' }) // its own pattern stays as it is: a map of zeros would say nothing
      },
    },
    {
      says: change,
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
        <button type="button" className="link" onClick={() => examplesOpen.set(true)}>
          more examples
        </button>
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

/** Places that are looked through for the one that shows most. */
const MOST_PLACES = 256

interface Telling {
  readonly pair: InductionView['pairs'][number]
  /** What the prediction does there without the head. */
  readonly says: string
}

/**
 * The place where the head looks back and the model's answer needs it most: what really follows loses most without it.
 * One pass with and one without the head. null where the head looks back nowhere.
 */
async function tellingPlace(run: RunDetail, head: HeadId, places: InductionView): Promise<Telling | null> {
  const weights = places.heads.find((one) => sameHead(one, head))?.weights ?? []
  const order = weights.map((_, i) => i).sort((a, b) => weights[b]! - weights[a]!)
  const found = order
    .slice(0, MOST_PLACES)
    .flatMap((i) => (weights[i]! > 0.3 || i === order[0] ? [places.pairs[i]!] : []))
  if (found.length === 0) return null
  const { positions } = await api.predict({
    model: run.model,
    prompt: { ids: run.views.map(({ id }) => id) },
    edits: [ablateHead(head)],
    positions: found.map(({ query }) => query),
  })
  const falls = found.map((pair, i) => {
    const next = run.views[pair.query + 1]
    const prob = (side: 'base' | 'edited') =>
      positions[i]?.[side].find(({ token }) => token.id === next?.id)?.prob ?? null
    return { pair, next, before: prob('base'), after: prob('edited') }
  })
  const fall = ({ before, after }: (typeof falls)[number]) =>
    before === null || after === null ? Number.NEGATIVE_INFINITY : before - after
  const most = falls.reduce((best, one) => (fall(one) > fall(best) ? one : best))
  return {
    pair: most.pair,
    says:
      fall(most) > 0
        ? `‘${most.next!.text}’ falls from ${most.before!.toFixed(2)} to ${most.after!.toFixed(2)} →`
        : 'the prediction has changed →',
  }
}

function remembered(): boolean {
  try {
    return localStorage.getItem(KEY) === 'done'
  } catch {
    return false
  }
}
