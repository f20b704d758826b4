/** Hits and misses of one head, and how often the model then says B. */

import { useMemo } from 'react'
import type { OpenedModel, SpansReply, SpansRequest } from '../../../core/api/contract.ts'
import { grouped } from '../../state/format.ts'
import { headName } from '../../state/selection.ts'
import { scoreText } from '../../ui/score-text.ts'
import { ExampleRow } from './example-row.tsx'
import { openExample } from './open-example.ts'
import { spanRows } from './span-rows.ts'

/** Examples of each kind. */
const SHOWN = 8

type Head = SpansReply['heads'][number]

interface Props {
  readonly model: OpenedModel
  readonly reply: SpansReply
  readonly prompts: SpansRequest['prompts']
  readonly head: Head
}

export function SpanExamples({ model, reply, prompts, head }: Props) {
  const name = headName(head)
  const rows = useMemo(() => spanRows(reply, head), [reply, head])
  const textOf = (window: number) => {
    const { prompt } = reply.windows[window]!
    // A long text is several windows, and none of them is the text.
    const whole = reply.windows.filter((other) => other.prompt === prompt).length === 1
    return whole ? prompts[prompt]?.text : undefined
  }
  return (
    <section className="corpus-examples" aria-label={`Hits and misses of ${name}`}>
      <h3 className="pane-title">
        {name}{' '}
        <span title={reply.definitions.rate}>
          rate {scoreText(head.rate)}, n = {head.rate.n}
        </span>
      </h3>
      {(['hits', 'misses'] as const).map((kind) => (
        <div key={kind}>
          <h4 className="example-title">
            {grouped(rows[kind].length)} {kind} listed{' '}
            <span className="muted" title={reply.definitions.predicted}>
              the model then says B: {scoreText(head.predicted[kind])}
            </span>
          </h4>
          {rows[kind].length === 0 ? (
            <p className="muted small-text">none of the listed places</p>
          ) : (
            <ol>
              {rows[kind].slice(0, SHOWN).map(({ window, query, target, weight, predicted }) => (
                <ExampleRow
                  key={`${window} ${query}`}
                  tokens={reply.tokens[window] ?? []}
                  query={query}
                  at={target}
                  weight={weight}
                  says={predicted ? 'says B' : ''}
                  onOpen={() =>
                    openExample(model, reply.tokens[window] ?? [], textOf(window), head, query, target)
                  }
                />
              ))}
            </ol>
          )}
        </div>
      ))}
    </section>
  )
}
