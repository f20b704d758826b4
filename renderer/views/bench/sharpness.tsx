/** How sharp the head's rows are: variance of the scores, entropy and largest weight per row; ranks; heads add; losses. */
import type { BenchReply } from '../../../core/api/contract.ts'
import { preciseWeight } from '../../state/format.ts'
import { toggleQuery } from '../../state/store.ts'
import { Fact } from './effect.tsx'

export function Sharpness({ bench }: { bench: BenchReply }) {
  const { sharpness, spectra } = bench
  const number = (value: number | null) => (value === null ? 'undefined' : preciseWeight(value))
  const rank = ({ rank, atMost }: BenchReply['spectra']['ov']) => `${rank} of at most ${atMost}`
  return (
    <section aria-label="Sharpness">
      <h3 className="pane-title">Scores</h3>
      <dl className="facts">
        <Fact name="Var(q·k)">{number(sharpness.productVariance)}</Fact>
        <Fact name="d_k, for unit coordinates">{sharpness.dHead}</Fact>
        <Fact name="Var(s), scaled">{number(sharpness.scoreVariance)}</Fact>
        <Fact name="rank of W_V W_O">{rank(spectra.ov)}</Fact>
        <Fact name="rank of W_Q W_Kᵀ">{rank(spectra.qk)}</Fact>
        <Fact name="rank of the pattern">{rank(spectra.pattern)}</Fact>
        <Fact name="heads add = concatenated, error">{bench.heads_add.toExponential(1)}</Fact>
        <Fact name="mean loss, nats">{number(bench.loss)}</Fact>
      </dl>
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">query</th>
            <th scope="col" title="nats">
              entropy
            </th>
            <th scope="col" title="entropy over log of the number of visible keys">
              of most
            </th>
            <th scope="col">largest α</th>
            <th scope="col" title="−log p of the token that follows, nats">
              loss
            </th>
          </tr>
        </thead>
        <tbody>
          {sharpness.rows.map((row) => (
            <tr key={row.query} className={row.query === bench.query ? 'is-locked' : ''}>
              <th scope="row">
                <button type="button" className="clip" onClick={() => toggleQuery(row.query)}>
                  <i className="index">{row.query}</i>{' '}
                  <span className="token-text">{bench.tokens[row.query]?.text}</span>
                </button>
              </th>
              <td className="number">{row.entropy.toFixed(3)}</td>
              <td className="number">{row.relative === null ? '∅' : row.relative.toFixed(2)}</td>
              <td className="number">
                <span className="bench-bar" style={{ width: `${row.largest * 34}px` }} />
                {row.largest.toFixed(3)}
              </td>
              <td className="number">{bench.losses[row.query]?.toFixed(2) ?? '∅'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
