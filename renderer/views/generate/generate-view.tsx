/**
 * The prompt continued token by token. In: the selected run and a temperature. Out: the text with its new tokens marked,
 * their probabilities as decoded with the key/value cache, and how far an uncached run of the whole text differs.
 */
import { useMutation } from '@tanstack/react-query'
import { Fragment, useRef, useState } from 'react'
import type { GenerateRequest, OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight } from '../../state/format.ts'
import { runOn } from '../../state/open.ts'
import { promptOf, promptWith } from '../../state/prompt-of.ts'
import { useTool } from '../../state/store.ts'
import '../../ui/bench.css'
import { WithRun } from '../frame/with-run.tsx'
import { type Continued, cacheError, continued, idsOf } from './continued.ts'

export function GenerateView() {
  return (
    <WithRun hint="Run a prompt above: the model continues it here.">
      {(model, run) => <Generate key={`${run.id} ${model.path}`} model={model} run={run} />}
    </WithRun>
  )
}

/** Float32 sums in another order: what two right runs may differ by, nats. */
const SAME = 1e-3

function Generate({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [temperature, setTemperature] = useTool<string>('gen_tau', '0')
  const [max, setMax] = useTool<string>('gen_max', '20')
  const [seed, setSeed] = useTool<string>('gen_seed', '0')
  const [chat, setChat] = useTool<'no' | 'yes'>('gen_chat', 'no')
  const [text, setText] = useState<Continued | null>(null)
  const stop = useRef<AbortController | null>(null)
  const valid =
    Number(temperature) >= 0 &&
    Number.isInteger(Number(max)) &&
    Number(max) >= 1 &&
    Number.isInteger(Number(seed)) &&
    Number(seed) >= 0
  const asChat = chat === 'yes' && run.text !== null && model.tokenizer?.chats === true
  const more = useMutation({
    mutationFn: async ({ count, from }: { count: number; from: Continued | null }) => {
      stop.current = new AbortController()
      const prompt: PromptInput = from
        ? promptWith(run, idsOf(from))
        : asChat
          ? { text: run.text! }
          : promptOf(run)
      const request: GenerateRequest = {
        model: model.path,
        prompt,
        max: count,
        ...(asChat && !from ? { chat: true } : {}),
        ...(Number(temperature) > 0 && {
          temperature: Number(temperature),
          // A draw that goes on must not repeat the numbers of the draw before it.
          seed: Number(seed) + (from?.tokens.length ?? 0),
        }),
      }
      return continued(from, await api.generate(request, stop.current.signal), request)
    },
    onSuccess: setText,
  })
  const use = useMutation({
    mutationFn: (count: number) =>
      runOn(model, promptWith(run, idsOf(text!).slice(0, text!.prompt.length + count))),
  })
  const busy = more.isPending || use.isPending
  const shown = text?.prompt ?? run.views
  const ended = text !== null && text.stopped !== 'max'
  const failed = more.error ?? use.error
  // Without a tokenizer a token is its number: numbers stand apart.
  const between = model.tokenizer === null ? ' ' : <wbr />
  return (
    <div className="view">
      <div className="toolbar is-wrapping">
        <NumberField label="temperature" hint="0 is greedy" value={temperature} onChange={setTemperature} />
        <NumberField label="tokens" hint="at most so many at once" value={max} onChange={setMax} />
        {Number(temperature) > 0 && (
          <NumberField
            label="seed"
            hint="the same seed draws the same text"
            value={seed}
            onChange={setSeed}
          />
        )}
        {model.tokenizer?.chats && (
          <label className="check" title="The prompt is what a person says in the checkpoint's chat template">
            <input
              type="checkbox"
              checked={asChat}
              disabled={run.text === null}
              onChange={(event) => {
                setChat(event.target.checked ? 'yes' : 'no')
                setText(null)
              }}
            />
            chat template
          </label>
        )}
        <button
          type="button"
          className="button primary"
          disabled={busy || !valid}
          onClick={() => more.mutate({ count: Number(max), from: null })}
        >
          Generate
        </button>
        <button
          type="button"
          className="button"
          disabled={busy || !valid || ended}
          onClick={() => more.mutate({ count: 1, from: text })}
        >
          One token
        </button>
        {more.isPending && (
          <button type="button" className="button" onClick={() => stop.current?.abort()}>
            Stop
          </button>
        )}
        <button
          type="button"
          className="button"
          disabled={busy || !text}
          onClick={() => text && use.mutate(text.tokens.length)}
        >
          Use as prompt
        </button>
        <span role="status" className="muted small-text">
          {more.isPending ? 'Generating…' : text && STOPPED[text.stopped]}
        </span>
      </div>
      {failed && failed.name !== 'AbortError' && (
        <p className="problem sweep-problem" role="alert">
          {failed.message}
        </p>
      )}
      <div className="generate-body">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling text is reached by keyboard */}
        <section className="generate-text" aria-label="The text" tabIndex={0}>
          {shown.map((token, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a position is its identity
            <Fragment key={i}>
              <span className="token-text" title={`${i} · id ${token.id}`}>
                {token.text}
              </span>
              {between}
            </Fragment>
          ))}
          {text?.tokens.map(({ token, logProb }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <Fragment key={i}>
              <ins
                className="token-text is-new"
                title={`${shown.length + i} · id ${token.id} · p ${preciseWeight(Math.exp(logProb))}`}
              >
                {token.text}
              </ins>
              {between}
            </Fragment>
          ))}
        </section>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: as above */}
        <section className="generate-side" aria-label="New tokens" tabIndex={0}>
          {text ? (
            <NewTokens text={text} first={shown.length} busy={busy} onUse={(count) => use.mutate(count)} />
          ) : (
            <p className="muted small-text">
              New tokens stand here with their probability, beside that of an uncached run of the whole text.
            </p>
          )}
        </section>
      </div>
    </div>
  )
}

const STOPPED = {
  max: '',
  eos: 'The model ended the text.',
  context: 'The text fills the positions of the model.',
} as const

function NumberField(props: {
  label: string
  hint: string
  value: string
  onChange: (value: string) => void
}) {
  const { label, hint, value, onChange } = props
  return (
    <label className="field" title={hint}>
      <span>{label}</span>
      <input
        className="input bench-score"
        inputMode="decimal"
        value={value}
        aria-invalid={!(Number(value) >= 0)}
        onChange={(event) => onChange(event.target.value.trim())}
      />
    </label>
  )
}

function NewTokens(props: {
  text: Continued
  first: number
  busy: boolean
  /** Makes the text with so many of its new tokens the prompt. */
  onUse: (count: number) => void
}) {
  const { text, first, busy, onUse } = props
  const error = cacheError(text.tokens)
  const figure = (): Figure => ({
    title: `the ${text.tokens.length} tokens that continue the prompt`,
    note: 'Probability of each new token under the model at temperature 1: decoded with the key/value cache, and from one run of the whole text without it.',
    facts: error === null ? [] : [`largest |Δ log p| between the two: ${error.toExponential(1)} nats`],
    body: () =>
      barsBody(
        ['p cached', 'p uncached'],
        text.tokens.map(({ token, logProb, uncached }, i) => ({
          name: `${first + i} ${token.text}`,
          values: [{ value: Math.exp(logProb) }, { value: uncached === null ? null : Math.exp(uncached) }],
        })),
        1,
      ),
    table: () => ({
      columns: ['position', 'id', 'token', 'log_p_cached', 'log_p_uncached'],
      rows: text.tokens.map(({ token, logProb, uncached }, i) => [
        first + i,
        token.id,
        token.text,
        logProb,
        uncached,
      ]),
    }),
    reproduce: text.request && { kind: 'generate', request: text.request },
  })
  return (
    <>
      <h3 className="pane-title">
        {text.tokens.length} new {text.tokens.length === 1 ? 'token' : 'tokens'}
        <span>cache {(text.cacheBytes / 1024).toFixed(0)} KiB</span>
        <FigureMenu figure={figure} name="the new tokens" />
      </h3>
      {error !== null && (
        <p
          className={error < SAME ? 'small-text muted' : 'small-text problem'}
          title="Largest difference of log p between decoding with the key/value cache and one run of the whole text without it, nats"
        >
          {error < SAME ? 'cached = uncached' : 'cached ≠ uncached'}: largest |Δ log p|{' '}
          {error.toExponential(1)} nats
        </p>
      )}
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">token</th>
            <th scope="col" title="probability under the model, temperature 1, decoded with the cache">
              p cached
            </th>
            <th scope="col">p uncached</th>
          </tr>
        </thead>
        <tbody>
          {text.tokens.map(({ token, logProb, uncached }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a position is its identity
            <tr key={i}>
              <th scope="row">
                <button
                  type="button"
                  className="use-token"
                  title="Make the text up to here the prompt"
                  disabled={busy}
                  onClick={() => onUse(i + 1)}
                >
                  <i className="index">{first + i}</i> <span className="token-text">{token.text}</span>
                </button>
              </th>
              <td className="number">{Math.exp(logProb).toFixed(5)}</td>
              <td className="number">{uncached === null ? '∅' : Math.exp(uncached).toFixed(5)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
