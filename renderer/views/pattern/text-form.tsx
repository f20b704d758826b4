/**
 * The pattern as a reader meets it: the text itself. Point at a word: blue behind a word says how much the pointed one
 * looks at it, the green line below a word how much that word looks back at the pointed one. A click locks it.
 */
import { useCallback, useEffect, useRef } from 'react'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { rampPosition, signedColor, signedInk, weightColor, weightInk } from '../../charts/color.ts'
import { meanOfRows, type Reading } from '../../charts/reading.ts'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { getSelection, hover, setHover, toggleAlso, toggleQuery, useSelection } from '../../state/store.ts'
import type { Theme } from '../../state/theme.ts'
import { keepInView } from '../../ui/keep-in-view.ts'
import type { LinkedRef } from '../../ui/linked-scroll.ts'
import { keepStop, walkStops } from '../../ui/one-stop.ts'

interface Props {
  readonly reading: Reading
  readonly tokens: readonly TokenView[]
  readonly theme: Theme
  readonly log: boolean
  /** Links its scrolling with that of others. */
  readonly scroll?: LinkedRef
}

const LEAST = 0.004 // below this a word is left white

export function TextForm({ reading, tokens, theme, log, scroll }: Props) {
  const query = useSelection((s) => s.query)
  const also = useSelection((s) => s.also)
  // Hover changes many times a second: the tint is written straight to the words that are there.
  const words = useRef<HTMLParagraphElement | null>(null)
  const tint = useCallback(
    (host: HTMLParagraphElement | null) => {
      words.current = host
      if (!host) return undefined
      const paint = () => {
        const over = hover.get().query
        const asked = over !== null ? [over] : query === null ? [] : [query, ...also]
        paintWords(host, reading, asked, theme, log)
      }
      paint()
      const quiet = hover.subscribe(paint)
      const alone = scroll?.(host)
      return () => {
        quiet()
        alone?.()
      }
    },
    [reading, query, also, theme, log, scroll],
  )
  useEffect(() => {
    if (query !== null && tokens[query]) keepInView(words.current, query)
  }, [query, tokens])
  return (
    <div className="text-form">
      <p className="muted small-text">
        point at a word: <span className="key-looks">where it looks</span>{' '}
        <span className="key-seen">who looks at it</span> · click locks it · shift-click: the mean of several
      </p>
      <p
        className="text-words"
        ref={tint}
        onPointerLeave={() => setHover(null, null)}
        onFocus={keepStop}
        onKeyDown={walkStops}
      >
        {tokens.map((token, i) => (
          <button
            // biome-ignore lint/suspicious/noArrayIndexKey: a token is its position
            key={i}
            type="button"
            tabIndex={i === 0 ? 0 : -1}
            className={token.special ? 'word is-special' : 'word'}
            aria-label={`word ${i} ${token.text}`}
            onPointerEnter={() => setHover(i, null)}
            onFocus={() => setHover(i, null)}
            onBlur={() => setHover(null, null)}
            onClick={(event) =>
              event.shiftKey || event.ctrlKey || event.metaKey ? toggleAlso(i) : toggleQuery(i)
            }
          >
            {token.text}
          </button>
        ))}
      </p>
    </div>
  )
}

function paintWords(
  host: HTMLElement,
  reading: Reading,
  asked: readonly number[],
  theme: Theme,
  log: boolean,
): void {
  const { query: locked, also } = getSelection()
  const at = asked[0] ?? null
  for (let i = 0, word = host.firstElementChild; word; i++, word = word.nextElementSibling) {
    const element = word as HTMLElement
    const looks = meanOfRows(reading, asked, i)
    const seen = at === null || asked.length > 1 ? null : reading.at(i, at)
    const share = looks === null ? null : looks / (reading.most || 1)
    const most = reading.signed ? share : share === null ? null : rampPosition(share, log)
    const shown = most !== null && Math.abs(most) >= LEAST
    element.style.background = !shown
      ? ''
      : reading.signed
        ? signedColor(theme, most)
        : weightColor(theme, most)
    element.style.color = !shown ? '' : reading.signed ? signedInk(theme, most) : weightInk(theme, most)
    element.style.setProperty(
      '--seen',
      seen !== null && Math.abs(seen) / (reading.most || 1) >= LEAST
        ? String(Math.abs(seen) / (reading.most || 1))
        : '0',
    )
    element.classList.toggle('is-query', asked.includes(i))
    element.classList.toggle('is-later', at !== null && looks === null)
    element.setAttribute('aria-pressed', String(i === locked || also.includes(i)))
    const number = reading.signed ? signedWeight : preciseWeight
    element.title = [
      String(i),
      looks === null || at === null ? '' : `${asked.join(', ')} → ${i}: ${number(looks)}`,
      seen === null || at === null || i === at ? '' : `${i} → ${at}: ${number(seen)}`,
    ]
      .filter(Boolean)
      .join('\n')
  }
}
