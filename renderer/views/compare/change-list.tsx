/** Ranked heads by how much they changed; what is within the noise is fainter, below, and has no rank. */
import type { CompareReply, CompareRequest } from '../../../core/api/contract.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure, Source } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { scoreLabel } from '../../state/rank.ts'
import { headName, sameHead } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { SignedBar } from '../../ui/bars.tsx'
import { Choice } from '../../ui/select.tsx'
import { type Change, changesBy } from './changes.ts'

const MOST = 300

interface Props {
  readonly reply: CompareReply
  readonly request: CompareRequest
  readonly source: () => Promise<Source>
}

export function ChangeList({ reply, request, source }: Props) {
  const selected = useSelection((s) => s.head)
  const scores = Object.keys(reply.heads[0]?.deltas ?? {})
  const maps = reply.weights === null ? [] : ['ov', 'qk']
  const [wanted, setMeasure] = useTool<string>('measure', 'distance')
  const measures = ['distance', ...scores, ...maps]
  const measure = measures.includes(wanted) ? wanted : 'distance'
  const isScore = scores.includes(measure)
  const changes = changesBy(reply, measure)
  const most = Math.max(0, ...changes.map(({ value }) => Math.abs(value ?? 0)))
  const clear = changes.filter((change) => change.clear).length
  const name = labelOf(measure, maps)
  const figure = (): Figure => ({
    title: `heads by change: ${name}`,
    note: isScore
      ? 'B − A of each head, largest first, with its interval; pale: within the noise of the sequences.'
      : 'How far each head of B is from the one of A, largest first.',
    source,
    facts: [
      reply.definitions[measure] ?? '',
      isScore ? `seed ${reply.seed}` : `n = ${request.prompts.length} prompts`,
    ],
    body: () =>
      barsBody(
        [name],
        changes.map((change) => ({ name: headName(change), values: [change], pale: !change.clear })),
        most,
      ),
    table: () => ({
      columns: ['head', measure, 'low', 'high', 'beyond_noise', 'why'],
      rows: changes.map((c) => [headName(c), c.value, c.low, c.high, Number(c.clear), c.why]),
    }),
    reproduce: { kind: 'compare', request: { ...request, report: false } },
  })
  return (
    <section className="compare-list" aria-label="Heads by change">
      <h3 className="pane-title">
        Changed
        <Choice
          label="What changed"
          value={measure}
          options={measures.map((name) => ({
            value: name,
            label: labelOf(name, maps),
          }))}
          onChange={setMeasure}
        />
        <FigureMenu figure={figure} name="the changes" compact />
      </h3>
      <p className="muted small-text" title={reply.definitions[measure]}>
        {isScore
          ? `${clear} of ${changes.length} heads moved beyond the noise`
          : `${clear} of ${changes.length} heads differ`}
      </p>
      <ol className="ranked-list">
        {changes.slice(0, MOST).map((change, i) => (
          <Row
            key={headName(change)}
            change={change}
            rank={change.clear ? i + 1 : null}
            signed={isScore}
            most={most}
            on={sameHead(selected, change)}
          />
        ))}
      </ol>
    </section>
  )
}

function labelOf(measure: string, maps: readonly string[]): string {
  if (measure === 'distance') return 'pattern distance'
  return maps.includes(measure) ? `${measure.toUpperCase()} map distance` : `Δ ${scoreLabel(measure)}`
}

interface RowProps {
  readonly change: Change
  readonly rank: number | null
  readonly signed: boolean
  readonly most: number
  readonly on: boolean
}

function Row({ change, rank, signed, most, on }: RowProps) {
  const { value, low, high } = change
  const say = signed ? signedWeight : preciseWeight
  const interval = low === null || high === null ? '' : `[${say(low)}, ${say(high)}]`
  const share = value === null || most === 0 ? 0 : Math.abs(value) / most
  return (
    <li>
      <button
        type="button"
        className={`change-line${on ? ' is-selected' : ''}${change.clear ? '' : ' is-noise'}`}
        aria-pressed={on}
        title={`${headName(change)}: ${value === null ? (change.why ?? 'does not exist') : `${say(value)} ${interval}`}${!change.clear && signed ? ' within the noise: not ranked' : ''}`}
        onClick={() => select({ head: { layer: change.layer, head: change.head } })}
      >
        <span className="rank">{rank ?? (value === null ? '–' : '≈')}</span>
        <span className="head-name">{headName(change)}</span>
        {signed ? (
          <SignedBar value={value ?? 0} most={most} />
        ) : (
          <span className="bar">
            <span className="bar-fill" style={{ width: `${share * 100}%` }} />
          </span>
        )}
        <span className="number">{value === null ? '–' : say(value)}</span>
        <small className="muted interval">{interval}</small>
      </button>
    </li>
  )
}
