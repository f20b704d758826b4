/** The strongest token pairs of one head's circuits, on request: attended → said (OV), query → key (QK). */
import { useMutation } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { tokenPairs } from '../../api/jobs.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { signedWeight } from '../../state/format.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { useTool } from '../../state/store.ts'
import { Segmented } from '../../ui/segmented.tsx'

const COUNT = 40

/** What the numbers are. */
const SAYS = {
  ov: 'e W_V W_O u of every pair of tokens: what attending to the first adds to the logit of the second. Norm gains are folded in, their statistics are not; exact for the weights, no prompt.',
  qk: 'e W_Q W_Kᵀ e′ of every pair of tokens, scaled: how the first as a query scores the second as a key, at offset 0. Norm gains are folded in, their statistics are not; exact for the weights, no prompt.',
} as const

export function TokenPairs({ model, head }: { model: OpenedModel; head: HeadId }) {
  const [circuit, setCircuit] = useTool<'ov' | 'qk'>('circuit', 'ov')
  const requestOf = (of: 'ov' | 'qk') => ({ model: model.path, ...head, circuit: of, count: COUNT })
  const pairs = useMutation({
    mutationFn: (of: 'ov' | 'qk') => tokenPairs(requestOf(of)),
  })
  const found = pairs.data
  const word = (id: number) => found?.words[id]?.text ?? String(id)
  const list = found?.pairs ?? []
  const figure = (): Figure => ({
    title: `strongest token pairs of the ${circuit.toUpperCase()} circuit of ${headName(head)}`,
    note: circuit === 'ov' ? 'attended → said: what the head adds to a logit.' : 'query → key: the score.',
    ofModel: true,
    facts: [SAYS[circuit]],
    body: () =>
      barsBody(
        [circuit === 'ov' ? 'attended → said' : 'query → key'],
        list.map(({ input, output, value }) => ({
          name: `${word(input)} → ${word(output)}`,
          values: [{ value }],
        })),
        Math.max(1e-12, ...list.map(({ value }) => Math.abs(value))),
      ),
    table: () => ({
      columns: ['input_id', 'input', 'output_id', 'output', 'value'],
      rows: list.map(({ input, output, value }) => [input, word(input), output, word(output), value]),
    }),
    reproduce: { kind: 'pairs', request: requestOf(circuit) },
  })
  return (
    <section className="strongest" aria-label="Token pairs">
      <h3 className="pane-title">
        Token pairs of {headName(head)}
        {found && <FigureMenu figure={figure} name="the pairs" compact />}
      </h3>
      <p className="button-row">
        <Segmented
          label="Circuit"
          value={circuit}
          options={[
            { value: 'ov', label: 'OV' },
            { value: 'qk', label: 'QK' },
          ]}
          onChange={(next) => {
            setCircuit(next)
            if (found) pairs.mutate(next)
          }}
        />
        <button
          type="button"
          className="button small"
          disabled={pairs.isPending}
          onClick={() => pairs.mutate(circuit)}
        >
          {pairs.isPending ? 'Searching…' : found ? 'Again' : 'Find the strongest'}
        </button>
      </p>
      <p className="muted small-text" title={SAYS[circuit]}>
        {circuit === 'ov' ? 'attended → said' : 'query → key'}
      </p>
      {pairs.isError && (
        <p className="problem" role="alert">
          {pairs.error.message}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and holds nothing else that takes the keys */}
      <ol className="ranked-list" aria-label="Pairs, the strongest first" tabIndex={0}>
        {found?.pairs.map((pair) => (
          <li key={`${pair.input}.${pair.output}`} className="pair-line" title={SAYS[circuit]}>
            <span className="token-text clip">{found.words[pair.input]?.text ?? pair.input}</span>
            <span className="muted">→</span>
            <span className="token-text clip">{found.words[pair.output]?.text ?? pair.output}</span>
            <span className="number">{signedWeight(pair.value)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
