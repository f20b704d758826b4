/** The tokens of a compared text, with KL(A‖B) of what comes next under each; a second line where the likeliest tokens differ. */
import type { CompareReply } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { preciseWeight } from '../../state/format.ts'
import { setHover, toggleQuery, useSelection } from '../../state/store.ts'

interface Props {
  readonly tokens: readonly TokenView[]
  readonly prediction: CompareReply['prediction']['prompts'][number]
  /** The largest KL of all texts: full height. */
  readonly most: number
}

export function KlStrip({ tokens, prediction, most }: Props) {
  const locked = useSelection((s) => s.query)
  return (
    <ol className="kl-strip" aria-label="Tokens; below each the KL of the next-token predictions">
      {tokens.map((view, i) => {
        const kl = prediction.kl[i] ?? null
        const equal = prediction.top1_equal[i] ?? true
        const says = kl === null ? 'no KL: some logit is not a number' : `KL ${preciseWeight(kl)} nats`
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a token is its position
          <li key={i}>
            <button
              type="button"
              className={`kl-token${i === locked ? ' is-selected' : ''}${equal ? '' : ' is-different'}`}
              aria-pressed={i === locked}
              aria-label={`token ${i} ${view.text}, ${says}${equal ? '' : ', another likeliest token'}`}
              title={`${i} · ${says}${equal ? '' : ' · the likeliest next token differs'}`}
              onClick={() => toggleQuery(i)}
              onPointerEnter={() => setHover(i, null)}
              onPointerLeave={() => setHover(null, null)}
            >
              <span className="token-text">{view.text.replaceAll('\n', '⏎')}</span>
              <span className="kl-track" aria-hidden="true">
                <span
                  className="kl-fill"
                  style={{ width: `${kl === null || most === 0 ? 0 : Math.min(1, kl / most) * 100}%` }}
                />
              </span>
            </button>
          </li>
        )
      })}
    </ol>
  )
}
