/**
 * The prompt as tokens, linked with everything below. Hover or lock a token: the ones it looks at (in the selected head)
 * take the colour of the weight. Underline: how much the token surprised the model. Dot: it occurred before.
 */
import { Popover } from '@base-ui/react/popover'
import { memo, useCallback, useEffect, useRef, useState } from 'react'
import type { InductionView, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { useJobOn } from '../../api/jobs.ts'
import { type Pattern, rowOf } from '../../api/pattern.ts'
import { useInduction, useModel, usePattern, useRun } from '../../api/queries.ts'
import { rampPosition, weightColor, weightInk } from '../../charts/color.ts'
import { lengthWarning } from '../../state/prompt-length.ts'
import {
  getSelection,
  hover,
  select,
  setHover,
  toggleAlso,
  toggleQuery,
  useSelection,
} from '../../state/store.ts'
import { type Theme, useTheme } from '../../state/theme.ts'
import { keepInView } from '../../ui/keep-in-view.ts'
import { keepStop, walkStops } from '../../ui/one-stop.ts'
import { PromptEditor } from './prompt-editor.tsx'
import { TokenCard } from './token-card.tsx'

const MOST_LOSS = 8 // nats at which the underline is full

export function TokenStrip() {
  const model = useModel()
  const run = useRun()
  const [editing, setEditing] = useState(false)
  const runId = useSelection((s) => s.run)
  const running = useJobOn('run', model.data?.path ?? null) !== undefined
  const open = editing || (runId === null && !running && model.data !== undefined)
  return (
    <section className="token-strip" aria-label="Prompt">
      {open && model.data ? (
        <PromptEditor
          key={`${model.data.path}/${run.data?.id ?? 'new'}`}
          model={model.data}
          run={run.data ?? null}
          {...(runId === null ? {} : { onClose: () => setEditing(false) })}
        />
      ) : (
        <>
          {run.data ? (
            <Tokens run={run.data} />
          ) : (
            <div className="tokens tokens-empty">{run.isError ? run.error.message : ' '}</div>
          )}
          <div className="strip-side">
            <button
              type="button"
              className="button small edit-prompt"
              onClick={() => setEditing(true)}
              disabled={!model.data}
            >
              Edit prompt
            </button>
            {run.data && model.data && <RunSize run={run.data} spec={model.data.spec} />}
            {run.data && model.data?.tokenizer && <LockedToken model={model.data} run={run.data} />}
          </div>
        </>
      )}
    </section>
  )
}

function RunSize({ run, spec }: { run: RunDetail; spec: OpenedModel['spec'] }) {
  const long = spec.encoder ? null : lengthWarning(run.views.length, spec)
  return (
    <span
      className={long ? 'problem small-text' : 'muted small-text'}
      title={[long, 'Mean next-token loss over the predictions whose target is in the prompt, in nats.']
        .filter(Boolean)
        .join('\n')}
    >
      {run.views.length} tokens{long && `, made for ${spec.n_ctx}`} · loss {run.loss?.toFixed(2) ?? '–'}
    </span>
  )
}

/** What the locked token is made of, one click away. */
function LockedToken({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const query = useSelection((s) => s.query)
  const view = query === null ? undefined : run.views[query]
  // Its place is kept: nothing below moves when a token is locked.
  if (!view) return <span className="button small is-kept" aria-hidden="true" />
  return (
    <Popover.Root>
      <Popover.Trigger className="button small" title="Its id and the merges that build it">
        Token {query}…
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} align="end" className="choice-positioner">
          <Popover.Popup className="help">
            <Popover.Title className="dialog-title">Token {query}</Popover.Title>
            <TokenCard model={model} token={view} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Tokens({ run }: { run: RunDetail }) {
  const theme = useTheme()
  const head = useSelection((s) => s.head)
  const query = useSelection((s) => s.query)
  const key = useSelection((s) => s.key)
  const also = useSelection((s) => s.also)
  const loaded = usePattern(run.id, head)
  const pairs = useInduction().data?.pairs
  const pattern = loaded.data?.run === run.id ? loaded.data.pattern : null

  // Hover and head change many times a second: the tint is written straight to the elements that are there.
  const strip = useRef<HTMLDivElement | null>(null)
  const tint = useCallback(
    (host: HTMLDivElement | null) => {
      strip.current = host
      if (!host) return undefined
      const paint = () => {
        const now = hover.get()
        const asking = now.query ?? query
        const asked = now.key ?? (now.query === null ? key : null)
        const queries = asking === null ? [] : now.query === null ? [asking, ...also] : [asking]
        tintTokens(host, pattern && meanRow(pattern, queries), theme, queries, asked, query)
      }
      paint()
      return hover.subscribe(paint)
    },
    [pattern, query, key, also, theme],
  )
  // A token that was locked elsewhere, or by the address, may be far down a long prompt.
  useEffect(() => {
    if (query !== null && run.views[query]) keepInView(strip.current?.firstElementChild, query)
  }, [query, run.views])

  return (
    <div className="tokens-host" ref={tint}>
      <TokenList run={run} pairs={pairs ?? NO_PAIRS} />
    </div>
  )
}

const NO_PAIRS: InductionView['pairs'] = []
const tinted = new WeakMap<Element, string>()

/** Mean of the rows of several queries; a key that some of them do not see counts over those that do. */
function meanRow(pattern: Pattern, queries: readonly number[]): Float32Array | null {
  const rows = queries.filter((query) => query < pattern.size).map((query) => rowOf(pattern, query))
  const [first] = rows
  if (!first || rows.length === 1) return first ?? null
  return first.map((_, key) => {
    const seen = rows.map((row) => row[key]!).filter((weight) => !Number.isNaN(weight))
    return seen.reduce((sum, weight) => sum + weight, 0) / seen.length // of none: NaN, not visible
  })
}

/** Brings every chip up to date; only those that differ from before are touched. */
function tintTokens(
  host: HTMLElement,
  row: Float32Array | null,
  theme: Theme,
  asking: readonly number[],
  asked: number | null,
  locked: number | null,
): void {
  const list = host.firstElementChild
  for (let i = 0, item = list?.firstElementChild; item; i++, item = item.nextElementSibling) {
    const chip = item.firstElementChild as HTMLElement
    const weight = row ? row[i]! : 0
    const t = weight > 0.015 ? Math.round(rampPosition(weight, false) * 100) / 100 : 0 // NaN: not visible
    const state = `${t}${theme}${asking.includes(i)}${i === asked}${i === locked}`
    if (tinted.get(chip) === state) continue
    tinted.set(chip, state)
    chip.style.background = t > 0 ? weightColor(theme, t) : ''
    chip.style.color = t > 0 ? weightInk(theme, t) : ''
    chip.classList.toggle('is-tinted', t > 0)
    chip.classList.toggle('is-query', asking.includes(i))
    chip.classList.toggle('is-key', i === asked)
    chip.setAttribute('aria-pressed', String(i === locked))
  }
}

/** The chips themselves: rendered once per run. */
const TokenList = memo(function TokenList({ run, pairs }: { run: RunDetail; pairs: InductionView['pairs'] }) {
  const repeats = new Set(pairs.map((p) => p.query))
  return (
    <ol
      className="tokens"
      aria-label="Tokens; colour: where the chosen token looks in the chosen head"
      onPointerLeave={() => setHover(null, null)}
      onFocus={keepStop}
      onBlur={() => setHover(null, null)}
      onKeyDown={walkStops}
    >
      {run.views.map((view, i) => {
        const loss = i === 0 ? null : (run.predictions[i - 1]?.loss ?? null)
        const surprise = loss === null ? '' : ` · loss ${loss.toFixed(2)} nats`
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a token is its position
          <li key={i}>
            <button
              type="button"
              tabIndex={i === 0 ? 0 : -1}
              className={`token${view.special ? ' is-special' : ''}${view.group !== null ? ' is-part' : ''}`}
              aria-label={`token ${i} ${view.text}`}
              title={`${i} · id ${view.id}${surprise}${repeats.has(i) ? ' · occurred before' : ''}`}
              onClick={(event) => {
                const locked = getSelection().query
                if (event.shiftKey || event.ctrlKey || event.metaKey) return toggleAlso(i)
                if (event.altKey && locked !== null && i <= locked) select({ key: i }, { replace: true })
                else toggleQuery(i)
                return undefined
              }}
              onPointerEnter={() => setHover(i, null)}
              onFocus={(event) => {
                if (event.currentTarget.matches(':focus-visible')) setHover(i, null) // as the pointer would
              }}
            >
              <i className="token-index">
                {i}
                {repeats.has(i) && <b className="repeat" />}
              </i>{' '}
              <span className="token-text">{view.text}</span>
              <span
                className="token-loss"
                style={{ width: loss === null ? 0 : `${Math.min(100, (loss / MOST_LOSS) * 100)}%` }}
              />
            </button>
          </li>
        )
      })}
    </ol>
  )
})
