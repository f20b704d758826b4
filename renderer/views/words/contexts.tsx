/**
 * One token in several prompts: how alike its residuals are at each border, and who wrote the difference of two of them.
 * In: texts, a word, or a token clicked in each. Out: cosines, and writers whose shares sum to 1.
 */
import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { ContextsReply, OpenedModel } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { wordsApi } from '../../api/words.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { useTool } from '../../state/store.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { borderName } from '../residual/cells.ts'
import { BorderChart, borderFigure } from './border-chart.tsx'
import { placeOfWord } from './place-of-word.ts'
import { TokenPicks } from './token-picks.tsx'
import { WriterList } from './writer-list.tsx'

const TEXTS = `The mole dug a tunnel under the garden.
A mole of carbon weighs twelve grams.
The doctor looked at the mole on her arm.`
const MOST = 6

export function Contexts({ model }: { model: OpenedModel }) {
  const [texts, setTexts] = useTool<string>('contexts', TEXTS)
  const [word, setWord] = useTool<string>('context-word', 'mole')
  const [clicked, setClicked] = useState<Readonly<Record<number, number>>>({})
  const lines = texts
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, MOST)
  const read = useQueries({
    queries: lines.map((text) => ({
      queryKey: ['tokenize', model.path, text],
      queryFn: () => api.tokenize({ model: model.path, text, bos: 'auto' }),
    })),
    combine: (results) => ({
      tokens: results.map((q) => q.data?.tokens ?? null),
      problem: results.find((q) => q.error)?.error?.message ?? null,
    }),
  })
  const positions = read.tokens.map((tokens, i) => {
    if (!tokens) return null
    const own = clicked[i]
    return own !== undefined && own < tokens.length ? own : placeOfWord(tokens, word)
  })
  const ready = positions.length > 1 && positions.every((pos) => pos !== null)
  const places = lines.map((text, i) => ({ prompt: { text }, pos: positions[i] ?? 0 }))
  const shift = useQuery({
    queryKey: ['contexts', model.path, places],
    queryFn: ({ signal }) => wordsApi.contexts({ model: model.path, places }, signal),
    enabled: ready,
    retry: false,
  })
  const lacking = positions.findIndex((pos, i) => pos === null && read.tokens[i] !== null)
  return (
    <>
      <div className="relation-fields is-single">
        <label>
          <span className="muted small-text">texts, one a line (at most {MOST})</span>
          <textarea
            className="input editor-text"
            rows={3}
            spellCheck={false}
            value={texts}
            onChange={(event) => {
              setClicked({})
              setTexts(event.target.value)
            }}
          />
        </label>
      </div>
      <div className="toolbar is-wrapping">
        <label className="field">
          <span>word</span>
          <input
            className="input"
            value={word}
            spellCheck={false}
            onChange={(event) => {
              setClicked({})
              setWord(event.target.value)
            }}
          />
        </label>
        <span className="muted small-text">
          the token that ends it is compared; click another to take that
        </span>
      </div>
      {(read.problem ?? shift.error?.message) && (
        <p className="problem work-state" role="alert">
          {read.problem ?? shift.error?.message}
        </p>
      )}
      <div className="words-texts">
        {read.tokens.map((tokens, i) => (
          <TokenPicks
            // biome-ignore lint/suspicious/noArrayIndexKey: a text is its line
            key={i}
            label={`Tokens of text ${i + 1}`}
            tokens={tokens ?? []}
            chosen={new Set(positions[i] === null ? [] : [positions[i]!])}
            onPick={(pos) => setClicked({ ...clicked, [i]: pos })}
          />
        ))}
      </div>
      {lacking >= 0 && (
        <p className="muted work-state">
          Text {lacking + 1} has no “{word}”: click its token.
        </p>
      )}
      {lines.length < 2 && <p className="muted work-state">Give two texts or more.</p>}
      {ready && shift.data && <Found model={model} reply={shift.data} places={places} />}
    </>
  )
}

interface FoundProps {
  readonly model: OpenedModel
  readonly reply: ContextsReply
  readonly places: readonly { readonly prompt: { readonly text: string }; readonly pos: number }[]
}

function Found({ model, reply, places }: FoundProps) {
  const lines = useMemo(() => {
    const names = [...new Set(reply.pairs.map(({ a, b }) => `${a} ${b}`))]
    return names.map((name) => {
      const own = reply.pairs.filter(({ a, b }) => `${a} ${b}` === name)
      const [first] = own
      return {
        a: first!.a,
        b: first!.b,
        name: `text ${first!.a + 1} and ${first!.b + 1}`,
        values: own.map(({ cosine }) => cosine),
      }
    })
  }, [reply])
  const last = (lines[0]?.values.length ?? 1) - 1
  const [border, setBorder] = useState(last)
  const [chosen, setChosen] = useState(0)
  const at = Math.min(border, last)
  const pair = lines[Math.min(chosen, lines.length - 1)]!
  const figure = () =>
    borderFigure(
      lines,
      'one token in several texts',
      'Cosine of the residuals of one token in two texts, at every block border.',
      places.map(({ prompt, pos }, i) => `text ${i + 1}, position ${pos}: ${prompt.text}`),
      { kind: 'contexts', request: { model: model.path, places } },
    )
  const cell = (i: number) => ({ ...places[i]!, border: at })
  const change = useQuery({
    queryKey: ['change', model.path, cell(pair.a), cell(pair.b)],
    queryFn: ({ signal }) => api.change({ model: model.path, from: cell(pair.a), to: cell(pair.b) }, signal),
    retry: false,
  })
  return (
    <div className="words-result">
      <section className="words-chart" aria-label="Cosines along the layers">
        <h3 className="pane-title">
          How alike <span>cosine of the two residuals at every border; click one</span>
          <FigureMenu figure={figure} name="the cosines" />
        </h3>
        <BorderChart
          lines={lines}
          border={at}
          label={`Cosine of ${lines.length} pairs at ${last + 1} borders`}
          onPick={(i) => setBorder(Math.min(last, Math.max(0, i)))}
        />
        {reply.token === null && (
          <p className="warning small-text">The tokens differ, so they part at the embedding already.</p>
        )}
      </section>
      <section className="words-writers" aria-label="Who wrote the difference">
        <h3 className="pane-title">
          Who wrote the difference <span>at {borderName(at, last)}</span>
        </h3>
        <Segmented
          label="Which two texts"
          value={String(lines.indexOf(pair))}
          options={lines.map((line, i) => ({ value: String(i), label: `${line.a + 1} → ${line.b + 1}` }))}
          onChange={(next) => setChosen(Number(next))}
        />
        {change.isError && <p className="problem">{change.error.message}</p>}
        {change.data && <WriterList change={change.data} />}
      </section>
    </div>
  )
}
