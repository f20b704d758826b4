/** `king - man + woman`: the tokens nearest to a combination of embeddings. A click on a token asks for its own neighbours. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { wordsApi } from '../../api/words.ts'
import { useTool } from '../../state/store.ts'
import { Empty } from '../../ui/notice.tsx'

const COUNT = 30

export function Directions({ model }: { model: OpenedModel }) {
  const [asked, setAsked] = useTool<string>('direction', '')
  const [typed, setTyped] = useState(asked)
  const found = useQuery({
    queryKey: ['neighbours', model.path, asked],
    queryFn: ({ signal }) =>
      wordsApi.neighbours({ model: model.path, expression: asked, count: COUNT }, signal),
    enabled: asked.trim() !== '',
    retry: false,
  })
  const ask = (expression: string) => {
    setTyped(expression)
    setAsked(expression)
  }
  return (
    <>
      <form
        className="toolbar is-wrapping"
        onSubmit={(event) => {
          event.preventDefault()
          setAsked(typed)
        }}
      >
        <label className="field words-expression">
          <span>direction</span>
          <input
            className="input"
            placeholder="king - man + woman"
            value={typed}
            spellCheck={false}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <button type="submit" className="button small primary" disabled={typed.trim() === ''}>
          Nearest tokens
        </button>
        <span className="muted small-text">
          single tokens joined by spaced + and −; quote one with a space, or write its id as #42
        </span>
      </form>
      {found.isError && (
        <p className="problem work-state" role="alert">
          {found.error.message}
        </p>
      )}
      {found.data ? (
        <section className="words-list" aria-label="Nearest tokens">
          <h3 className="pane-title">
            Nearest{' '}
            <span title="Cosine in the embedding as it enters the residual stream">
              cosine; the direction has length {found.data.norm.toPrecision(3)}; tokens of the expression are
              marked
            </span>
          </h3>
          <ol className="ranked-list">
            {found.data.neighbours.map(({ id, cosine, named }, i) => (
              <li key={id}>
                <button
                  type="button"
                  className={named ? 'word-line is-named' : 'word-line'}
                  title={`id ${id}${named ? ', in the expression' : ''}; click: its own neighbours`}
                  onClick={() => ask(`#${id}`)}
                >
                  <span className="rank">{i + 1}</span>
                  <span className="token-text">{found.data.words[id]?.text ?? id}</span>
                  <span className="bar">
                    <span className="bar-fill" style={{ width: `${Math.max(0, cosine) * 100}%` }} />
                  </span>
                  <span className="number">{cosine.toFixed(3)}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      ) : (
        asked.trim() === '' && (
          <Empty title="No direction yet">
            <p>
              Type a token, or a sum and difference of tokens. Nothing is run: only the embedding is read.
            </p>
          </Empty>
        )
      )}
    </>
  )
}
