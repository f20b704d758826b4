/** The strongest edges of a head over texts as they leave the app. In: what was found. Out: a figure; its numbers are every head's. */
import type { CorpusReply, CorpusRequest } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { barsBody } from '../../charts/bars-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { headName } from '../../state/selection.ts'

interface Found {
  readonly reply: CorpusReply
  readonly request: CorpusRequest
  readonly head: CorpusReply['heads'][number]
  /** What is listed, and over what. */
  readonly about: string
}

export function examplesFigure({ reply, request, head, about }: Found): Figure {
  const text = (window: number, position: number) => reply.tokens[window]?.[position]?.text ?? ''
  const kinds = (['query', 'key'] as const).flatMap((side) =>
    request[side] === undefined ? [] : [`${side}: ${JSON.stringify(request[side])}`],
  )
  return {
    title: `strongest edges of ${headName(head)} over texts`,
    note: 'Each bar is the weight of one edge, query → key; the whole of it is 1.',
    ofModel: true,
    facts: [about, ...kinds, `kept in the workspace as ${reply.experiment}`],
    body: () =>
      barsBody(
        ['query → key'],
        head.edges.map(({ prompt, query, key, weight }) => ({
          name: `${clipped(text(prompt, query))} → ${clipped(text(prompt, key))}`,
          values: [{ value: weight }],
        })),
        1,
      ),
    table: () => ({
      columns: ['head', 'window', 'query', 'query_token', 'key', 'key_token', 'weight'],
      rows: reply.heads.flatMap((one) =>
        one.edges.map(({ prompt, query, key, weight }) => [
          headName(one),
          prompt,
          query,
          text(prompt, query),
          key,
          text(prompt, key),
          weight,
        ]),
      ),
    }),
    reproduce: null,
  }
}

const LONGEST = 8

/** The names of bars have little room. */
function clipped(token: TokenView['text']): string {
  const letters = [...token]
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join('')}…` : token
}
