/** What a sweep is judged by: kind, answer, wrong token, position. All of it is in the address. */
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import type { Metric } from '../../../core/intervene/types.ts'
import { formatToken, METRICS, type MetricKind, metricOf, needsAnswer } from '../../state/metric.ts'
import { setTool, useSelection, useTool } from '../../state/store.ts'
import { Choice } from '../../ui/select.tsx'
import { useGivenTokens } from './given-tokens.ts'
import { TokenField } from './token-field.tsx'

/** The metric as it is set; where nothing is set, the two tokens that are given. Null: a token is missing. */
export function useMetric(
  model: OpenedModel,
  answer: TokenView | null,
  wrong: TokenView | null,
): Metric | null {
  const [kind] = useTool<MetricKind>('metric', 'logit_diff')
  const at = useSelection((s) => s.tool.at)
  const query = useSelection((s) => s.query)
  const given = useGivenTokens(model)
  return metricOf(kind, given.answer ?? answer, given.wrong ?? wrong, at === 'locked' ? query : null)
}

/** The position that the metric looks at: the locked token where that was chosen, else the last. */
export function useMetricPosition(length: number): number {
  const at = useSelection((s) => s.tool.at)
  const query = useSelection((s) => s.query)
  return at === 'locked' && query !== null && query < length ? query : length - 1
}

interface Props {
  readonly model: OpenedModel
  /** What stands where nothing was chosen. */
  readonly answer: TokenView | null
  readonly wrong: TokenView | null
  readonly likely: readonly TokenView[]
}

export function MetricFields({ model, answer, wrong, likely }: Props) {
  const [kind, setKind] = useTool<MetricKind>('metric', 'logit_diff')
  const [at, setAt] = useTool<'last' | 'locked'>('at', 'last')
  const given = useGivenTokens(model)
  const query = useSelection((s) => s.query)
  return (
    <>
      <span className="field">
        <span title={METRICS.find((m) => m.value === kind)?.says}>metric</span>
        <Choice label="Metric" value={kind} options={METRICS} onChange={setKind} />
      </span>
      {needsAnswer(kind) && (
        <TokenField
          label="answer"
          model={model}
          value={given.answer ?? answer}
          likely={likely}
          onChange={(token) => setTool('answer', formatToken(token))}
        />
      )}
      {kind === 'logit_diff' && (
        <TokenField
          label="wrong"
          model={model}
          value={given.wrong ?? wrong}
          likely={likely}
          onChange={(token) => setTool('wrong', formatToken(token))}
        />
      )}
      <span className="field">
        <span>at</span>
        <Choice
          label="Position of the metric"
          value={at}
          options={[
            { value: 'last', label: needsAnswer(kind) ? 'last token' : 'all tokens' },
            { value: 'locked', label: query === null ? 'locked token' : `token ${query}` },
          ]}
          onChange={setAt}
        />
      </span>
    </>
  )
}
