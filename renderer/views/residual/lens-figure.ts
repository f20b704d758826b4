/** The lanes of the residual stream as a figure: a cell per border and position, its likeliest token as text; its table. */
import type { LensReply, ReproduceRequest } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { weightColor, weightInk } from '../../charts/color.ts'
import type { Figure } from '../../charts/figure.ts'
import { type FigureBody, LINE, PALE, rampLegend, rectAt, textAt, UNDEFINED } from '../../charts/svg.ts'
import { cellPosition, type LensColour } from './lens-table.tsx'

export interface LensPicture {
  readonly lens: LensReply
  readonly views: readonly TokenView[]
  readonly vocab: number
  readonly colour: LensColour
}

const [LEFT, TOP, WIDTH, HEIGHT] = [40, 26, 58, 18]
const LETTERS = 8 // that fit into a cell
/** Cells a row; the rest stands below, in rows of its own. */
const COLUMNS = 20

const ENDS: Readonly<Record<LensColour, readonly [string, string]>> = {
  probability: ['0', '1'],
  entropy: ['sure', 'even'],
  loss: ['0', '8 nats'],
  answer: ['0', '1'],
  rank: ['last', 'first'],
}

const COLOURS: Readonly<Record<LensColour, string>> = {
  probability: 'probability of the likeliest token, 0 to 1',
  entropy: 'entropy, from sure to even over the vocabulary',
  loss: 'loss at the token that follows, 0 to 8 nats',
  answer: 'probability of the answer',
  rank: 'rank of the answer, logarithmic',
}

/** A page of a lens as it leaves the app. */
export function lensFigure(
  given: LensPicture & {
    readonly title: string
    readonly answer: string | null
    readonly reproduce: ReproduceRequest | null
  },
): Figure {
  const { lens, views, colour, title, answer, reproduce } = given
  const shown = lens.layers[0]?.positions ?? []
  const part = shown.length < views.length ? `, positions ${shown[0]?.pos}–${shown.at(-1)?.pos}` : ''
  const asked = (colour === 'answer' || colour === 'rank') && answer !== null ? ` ‘${answer}’` : ''
  return {
    title: title + part,
    note: `What the model would say at each block border. Rows are borders, from what enters block 0 (in) to the end; columns positions. Colour: ${COLOURS[colour]}${asked}.`,
    facts: [lens.definition],
    body: () => lensBody(given),
    table: () => ({
      columns: [
        'border',
        'position',
        'token',
        'top_token',
        'top_probability',
        'entropy',
        'loss',
        'answer_probability',
        'answer_rank',
      ],
      rows: lens.layers.flatMap(({ layer, positions }) =>
        positions.map((one) => [
          layer,
          one.pos,
          views[one.pos]?.text ?? '',
          one.top[0] ? (lens.words[one.top[0].id]?.text ?? String(one.top[0].id)) : null,
          one.top[0]?.prob ?? null,
          one.entropy,
          one.loss,
          one.prob,
          one.rank,
        ]),
      ),
    }),
    reproduce,
  }
}

export function lensBody({ lens, views, vocab, colour }: LensPicture): FigureBody {
  const rows = [...lens.layers].sort((a, b) => b.layer - a.layer)
  const last = rows[0]?.layer ?? 0
  const count = rows[0]?.positions.length ?? 0
  const blocks = Math.ceil(count / COLUMNS)
  const block = TOP + rows.length * HEIGHT + 14
  const parts: string[] = []
  for (let b = 0; b < blocks; b++) {
    const top = b * block + TOP
    const from = b * COLUMNS
    rows[0]!.positions.slice(from, from + COLUMNS).forEach(({ pos }, column) => {
      const x = LEFT + column * WIDTH + WIDTH / 2
      parts.push(
        textAt(x, top - 15, String(pos), { anchor: 'middle', size: 8.5, fill: PALE }),
        textAt(x, top - 5, clipped(views[pos]?.text ?? ''), { anchor: 'middle', size: 10 }),
      )
    })
    rows.forEach(({ layer, positions }, r) => {
      const y = top + r * HEIGHT
      const name = layer === last ? 'end' : layer === 0 ? 'in' : `L${layer}`
      parts.push(
        textAt(LEFT - 6, y + HEIGHT / 2, name, { anchor: 'end', middle: true, size: 10, fill: PALE }),
      )
      positions.slice(from, from + COLUMNS).forEach((cell, column) => {
        const x = LEFT + column * WIDTH
        const t = cellPosition(cell, colour, vocab)
        const first = cell.top[0]
        const word = first ? (lens.words[first.id]?.text ?? String(first.id)) : '∅'
        const title = `${word}${first?.prob == null ? '' : ` ${first.prob.toPrecision(3)}`}`
        parts.push(
          rectAt(x, y, WIDTH, HEIGHT, t === null ? UNDEFINED : weightColor('light', t), {
            stroke: LINE,
            title,
          }),
          textAt(x + WIDTH / 2, y + HEIGHT / 2, clipped(word), {
            anchor: 'middle',
            middle: true,
            size: 10,
            fill: t === null ? '#000' : weightInk('light', t),
          }),
        )
      })
    })
  }
  const legendAt = blocks * block
  return {
    width: LEFT + Math.min(COLUMNS, count) * WIDTH + 2,
    height: legendAt + 14,
    markup: [...parts, rampLegend(LEFT, legendAt, { ends: ENDS[colour] })].join('\n'),
  }
}

function clipped(text: string): string {
  return text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text
}
