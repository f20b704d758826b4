/** A B … A → B in this prompt: arcs over the text, hits and misses of the chosen head, and all heads side by side. */
import type { InductionView as Data, RunDetail } from '../../../core/api/contract.ts'
import { useEditedRun, useInduction, usePattern, useRun, useScan } from '../../api/queries.ts'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { scanLine } from '../../charts/figure-source.ts'
import { drawnArcs } from '../../charts/pattern-figure.ts'
import { preciseWeight } from '../../state/format.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { formatScore } from '../../state/rank.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { toggleCell, useSelection } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { useGrowing } from '../../ui/use-growing.ts'
import { ArcDiagram } from './arc-diagram.tsx'
import { barOption, HeadBars } from './head-bars.tsx'
import { type Place, placesOf } from './places.ts'
import { repeatLoss } from './repeat-loss.ts'

/** More places than this are not read, and a long prompt has tens of thousands. */
const MOST_ROWS = 200

export function InductionView() {
  const run = useRun()
  const data = useInduction()
  const runId = useSelection((s) => s.run)
  if (runId === null)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt in which something repeats: the places A B … A are found in it.</p>
      </Empty>
    )
  const problem = run.error ?? data.error
  if (problem)
    return <Failed error={problem} retry={() => void Promise.all([run.refetch(), data.refetch()])} />
  if (!run.data || !data.data) return <Waiting text="Looking for repeats…" />
  return <Induction run={run.data} data={data.data} />
}

function Induction({ run, data }: { run: RunDetail; data: Data }) {
  const head = useSelection((s) => s.head)
  const scan = useScan()
  const loaded = usePattern(run.id, head)
  const pattern =
    loaded.data?.run === run.id && head && sameLoaded(loaded.data, head) ? loaded.data.pattern : null
  const of = head ? data.heads.find((h) => h.layer === head.layer && h.head === head.head) : undefined
  const places = placesOf(data, of?.weights ?? [], pattern)
  const hits = places.filter((p) => p.hit).length
  const random = head
    ? scan.data?.heads.find((h) => h.layer === head.layer && h.head === head.head)?.scores.induction
    : undefined
  const reproduce = {
    kind: 'run' as const,
    request: { model: run.model, prompt: promptOf(run) },
  }
  const token = (i: number) => run.views[i]?.text ?? ''
  const arcs = (): Figure => ({
    title: `A B … A places, and what ${head ? headName(head) : 'a head'} does there`,
    note: 'Arcs run from a later A back to the B that followed A before; thickness is the attention of the head. Red, dashed: a miss (the strongest key is no B).',
    facts: [head && places.length > 0 ? `${hits} of ${places.length} places hit` : ''],
    body: () =>
      drawnArcs(
        run.views,
        data.pairs,
        of?.weights ?? [],
        places.map((place) => place.hit === false),
      ),
    table: () => ({
      columns: ['query', 'query_token', 'target', 'target_token', 'source', 'weight', 'hit'],
      rows: places.map((place) => [
        place.query,
        token(place.query),
        place.target,
        token(place.target),
        data.pairs[place.index]?.source ?? null,
        place.weight,
        place.hit === null ? null : Number(place.hit),
      ]),
    }),
    reproduce,
  })
  const bars = (): Figure => ({
    title: 'induction of every head, on random repeats and in this prompt',
    note: 'Blue: induction score on random tokens that repeat, whisker: 95 % bootstrap interval. Green: weight on all earlier B of this prompt (prefix matching).',
    facts: scan.data ? [scan.data.definitions.induction ?? '', scanLine(scan.data.settings)] : [],
    body: () =>
      chartFigure(
        (c) => barOption(data, scan.data ?? null, head && headName(head), c, Number.POSITIVE_INFINITY),
        Math.max(720, data.heads.length * 16),
        360,
      ),
    table: () => ({
      columns: ['head', 'induction', 'low', 'high', 'prefix_matching', 'tokens'],
      rows: data.heads.map((h) => {
        const score = scan.data?.heads.find((s) => s.layer === h.layer && s.head === h.head)?.scores.induction
        return [
          headName(h),
          score?.value ?? null,
          score?.low ?? null,
          score?.high ?? null,
          h.prefix_matching.value,
          h.prefix_matching.rows,
        ]
      }),
    }),
    reproduce,
  })

  return (
    <div className="view induction-view">
      <section className="induction-top" aria-label="Repeats as arcs">
        <h3 className="pane-title">
          {head ? headName(head) : 'No head chosen'}
          <span>
            arcs run from a later A back to the B that followed A before; thickness is this head's attention
          </span>
          {data.pairs.length > 0 && <FigureMenu figure={arcs} name="the arcs" />}
        </h3>
        {data.pairs.length === 0 ? (
          <Empty title="Nothing repeats in this prompt">
            <p>Edit the prompt so that a word comes twice: “the king Mimsy … the king”.</p>
          </Empty>
        ) : (
          <ArcDiagram
            tokens={run.views}
            pairs={data.pairs}
            weights={of?.weights ?? []}
            misses={places.map((place) => place.hit === false)}
          />
        )}
      </section>
      <div className="induction-bottom">
        <section className="places" aria-label="Places">
          <h3 className="pane-title">
            {head && places.length > 0 ? `${hits} of ${places.length} places hit` : 'Places'}
            <span title="Hit: of all keys but the first position, the later A looks most at a B that followed A before.">
              hit = strongest key is a B
            </span>
          </h3>
          <RepeatLine data={data} run={run} head={head} />
          <PlaceList places={places} run={run} />
          {places.length > MOST_ROWS && (
            <p className="muted small-text">
              The strongest {MOST_ROWS} of {places.length}.
            </p>
          )}
        </section>
        <section className="head-bars" aria-label="Heads">
          <h3 className="pane-title">
            All heads
            <span>
              {of?.prefix_matching.value != null && head
                ? `${headName(head)}: here ${formatScore(of.prefix_matching)} over ${of.prefix_matching.rows} tokens, on random repeats ${formatScore(random) || '–'}`
                : 'click a bar to choose a head'}
            </span>
            <FigureMenu figure={bars} name="the bars" />
          </h3>
          <HeadBars data={data} scan={scan.data ?? null} />
        </section>
      </div>
    </div>
  )
}

/** The loss on B the first time and again, and again with the edits that act: whether the head is what makes the difference. */
function RepeatLine({ data, run, head }: { data: Data; run: RunDetail; head: HeadId | null }) {
  const acting = useSelection((s) => s.edits.some(({ on }) => on))
  const edited = useEditedRun()
  const loss = repeatLoss(data.pairs, run.views, run.predictions)
  if (!loss) return null
  const without = edited.data && repeatLoss(data.pairs, run.views, edited.data.predictions)
  return (
    <p
      className="repeat-line small-text muted"
      title={`Mean loss in nats on B where it follows A for the first time, and over the ${loss.n} places where it follows a later A as it did before; run ${run.id} of ${run.modelName}, n = 1 prompt.`}
    >
      loss on B <b>{loss.first.toFixed(2)}</b> the first time, <b>{loss.again.toFixed(2)}</b> again (n ={' '}
      {loss.n})
      {acting ? (
        <>
          , with edits <b>{without ? without.again.toFixed(2) : edited.isError ? '–' : '…'}</b>
        </>
      ) : (
        head && ` · A: the same without ${headName(head)}`
      )}
    </p>
  )
}

/** The strongest places first. */
function PlaceList({ places, run }: { places: readonly Place[]; run: RunDetail }) {
  const rows = useGrowing(Math.min(places.length, MOST_ROWS), 50)
  return (
    <ol className="place-list">
      {[...places]
        .sort((a, b) => b.weight - a.weight)
        .slice(0, rows)
        .map((place) => (
          <PlaceRow key={place.index} place={place} run={run} />
        ))}
    </ol>
  )
}

function PlaceRow({ place, run }: { place: Place; run: RunDetail }) {
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const token = (i: number) => run.views[i]?.text ?? ''
  const top = run.predictions[place.query]?.topTokens[0]
  const right = top !== undefined && top.id === run.views[place.target]?.id
  const on = query === place.query && key === place.target
  const verdict = place.hit === null ? '' : place.hit ? 'hit' : 'miss'
  return (
    <li>
      <button
        type="button"
        className={on ? 'place-row is-selected' : 'place-row'}
        onClick={() => toggleCell(place.query, place.target)}
      >
        <i className={`verdict verdict-${verdict || 'none'}`}>{verdict}</i>{' '}
        <span className="index">{place.query}</span> <span className="token-text">{token(place.query)}</span>{' '}
        <span className="muted">→</span> <span className="index">{place.target}</span>{' '}
        <span className="token-text">{token(place.target)}</span>{' '}
        <span className="bar">
          <span className="bar-fill" style={{ width: `${place.weight * 100}%` }} />
        </span>
        <span className="number">{preciseWeight(place.weight)}</span>
        <span className={right ? 'says is-right' : 'says'} title="What the model says next at the later A">
          says <q className="token-text">{top?.text ?? ''}</q>
        </span>
      </button>
    </li>
  )
}

function sameLoaded(a: HeadId, b: HeadId): boolean {
  return a.layer === b.layer && a.head === b.head
}
