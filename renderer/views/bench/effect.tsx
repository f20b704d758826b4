/** What the changes do: the prediction, the row of weights and the loss before and after, from an exact run of the model. */
import type { Step } from '../../../core/analysis/first-principles/index.ts'
import type { BenchEditReply } from '../../../core/api/contract.ts'
import type { Prediction } from '../../../core/run/types.ts'
import { preciseWeight } from '../../state/format.ts'
import { setTool } from '../../state/store.ts'
import { ProbabilityBar } from '../../ui/bars.tsx'
import { differs } from './stages.ts'

interface Props {
  readonly edit: BenchEditReply
  /** The steps of the unchanged head. */
  readonly steps: readonly Step[]
  readonly query: number
}

const SHOWN = 5
const KEYS = 12

export function Effect({ edit, steps, query }: Props) {
  const last = edit.tokens.length - 1
  const { loss } = edit
  return (
    <>
      <Said edit={edit} pos={query} />
      {query !== last && <Said edit={edit} pos={last} />}
      <Row edit={edit} query={query} />
      <dl className="facts">
        <Fact name="mean loss, nats">
          {loss.before === null || loss.after === null
            ? 'undefined'
            : `${loss.before.toFixed(4)} → ${loss.after.toFixed(4)}`}
        </Fact>
        <Fact name={`|Δo| at ${query}`}>{preciseWeight(edit.moved[query] ?? 0)}</Fact>
        <Fact name="largest |Δo|">{preciseWeight(Math.max(0, ...edit.moved))}</Fact>
      </dl>
      <Reached edit={edit} steps={steps} query={query} />
    </>
  )
}

/** How far the changes move each step: at the chosen row, and anywhere. */
function Reached({ edit, steps, query }: Props) {
  const rows = steps.flatMap((step) => {
    const after = edit.steps.find(({ name }) => name === step.name)
    return after && differs(step, after) ? [{ name: step.name, ...movedBy(step, after, query) }] : []
  })
  if (rows.length === 0) return null
  return (
    <table className="data-table bench-table" aria-label="How far each step moves">
      <thead>
        <tr>
          <th scope="col">step</th>
          <th scope="col">largest |Δ| at {query}</th>
          <th scope="col">anywhere</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">
              <button type="button" className="link" onClick={() => setTool('bench_step', row.name)}>
                {row.name}
              </button>
            </th>
            <td className="number">{preciseWeight(row.at)}</td>
            <td className="number">{preciseWeight(row.most)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function movedBy(before: Step, after: Step, row: number): { at: number; most: number } {
  const width = before.shape[1]
  const moved = { at: 0, most: 0 }
  before.values.forEach((value, n) => {
    const other = after.values[n]
    if (value === null || other === null || other === undefined) return
    const size = Math.abs(other - value)
    moved.most = Math.max(moved.most, size)
    if (Math.floor(n / width) === row) moved.at = Math.max(moved.at, size)
  })
  return moved
}

export function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Said({ edit, pos }: { edit: BenchEditReply; pos: number }) {
  const [before, after] = [edit.predictions.before[pos], edit.predictions.after[pos]]
  if (!before || !after) return null
  const of = (side: Prediction, id: number) => side.top.find((t) => t.id === id)?.prob ?? null
  const most = (id: number) => Math.max(of(before, id) ?? 0, of(after, id) ?? 0)
  const ids = [...new Set([...before.top, ...after.top].map(({ id }) => id))]
    .sort((a, b) => most(b) - most(a))
    .slice(0, SHOWN)
  const next = edit.tokens[pos + 1]?.id
  return (
    <section className="prediction" aria-label={`Prediction after token ${pos}`}>
      <h3 className="pane-title">
        After {pos} <q>{edit.tokens[pos]?.text}</q>
      </h3>
      <div className="prediction-heads">
        <span />
        <span>before</span>
        <span className="is-ablated">changed</span>
      </div>
      <ol className="prediction-list">
        {ids.map((id) => (
          <li key={id} className={id === next ? 'is-target' : ''}>
            <span className="token-text clip">{edit.words[id]?.text ?? id}</span>
            <ProbabilityBar value={of(before, id)} look="base" none="less" />
            <ProbabilityBar value={of(after, id)} look="ablated" none="less" />
          </li>
        ))}
      </ol>
    </section>
  )
}

/** Weights of one query before and after, the largest first. */
function Row({ edit, query }: Omit<Props, 'steps'>) {
  const width = edit.key_tokens.length
  const at = (grid: BenchEditReply['pattern']['before'], key: number) => grid.values[query * width + key] ?? 0
  const { before, after } = edit.pattern
  const keys = edit.key_tokens
    .map((token, key) => ({ token, key, was: at(before, key), is: at(after, key) }))
    .sort((a, b) => Math.max(b.was, b.is) - Math.max(a.was, a.is))
    .slice(0, KEYS)
  return (
    <section className="prediction" aria-label={`Weights of query ${query}`}>
      <h3 className="pane-title">Weights of query {query}</h3>
      <ol className="prediction-list">
        {keys.map(({ token, key, was, is }) => (
          <li key={key}>
            <span className="clip">
              <i className="index">{key}</i> <span className="token-text">{token.text}</span>
            </span>
            <ProbabilityBar value={was} look="base" />
            <ProbabilityBar value={is} look="ablated" />
          </li>
        ))}
      </ol>
    </section>
  )
}
