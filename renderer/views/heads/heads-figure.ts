/** The heads as they are shown, grid or scatter, as a figure that leaves the app. In: what is shown. Out: a Figure. */
import type { HeadScores } from '../../../core/analysis/types.ts'
import type { OpenedModel, ScanReply } from '../../../core/api/contract.ts'
import type { Thumbnails } from '../../api/client.ts'
import { chartFigure } from '../../charts/echart-figure.ts'
import type { Figure } from '../../charts/figure.ts'
import { scanLine } from '../../charts/figure-source.ts'
import { scoreLabel } from '../../state/rank.ts'
import type { HeadId } from '../../state/selection.ts'
import type { Group, Order } from './arrange.ts'
import { headGridBody } from './grid-figure.ts'
import { scatterOption, withBoth } from './score-scatter.tsx'

interface Shown {
  readonly model: OpenedModel
  readonly scan: ScanReply | null
  /** null: tiles show scores. */
  readonly thumbnails: Thumbnails | null
  readonly score: string
  /** The score on the other axis of a scatter; null: a grid. */
  readonly against: string | null
  /** The score that colours the dots of a scatter. */
  readonly hue: string
  readonly order: Order
  readonly groups: readonly Group[] | null
  /** As it was typed. */
  readonly filter: string
  readonly matches: (head: HeadScores) => boolean
  readonly selected: HeadId | null
}

export function headsFigure(shown: Shown): Figure {
  const { model, scan, thumbnails, score, against, hue, order, groups, filter, matches, selected } = shown
  const heads = scan?.heads ?? null
  const x = scoreLabel(score)
  const faded = filter === '' ? '' : ` Faded: outside the filter “${filter}”.`
  const scores = against === null ? [score] : [...new Set([score, against, hue])]
  const places =
    order === 'layers' ? 'Rows are layers (the lowest below), columns heads' : `Heads by ${order}`
  const tile = thumbnails
    ? 'each picture is the pattern of the head on the prompt, the bar below it and the number are'
    : 'colour and number are'
  return {
    title: against === null ? `${x} of every head` : `heads by ${x} and ${scoreLabel(against)}`,
    note:
      against === null
        ? `${places}; ${tile} ${x}.${faded}`
        : `One dot a head: across ${x}, upwards ${scoreLabel(against)}, colour ${scoreLabel(hue)} (white 0, dark blue 1).${faded}`,
    ofModel: thumbnails === null,
    facts: scan
      ? [
          ...scores.map((name) => `${scoreLabel(name)}: ${scan.definitions[name] ?? ''}`),
          scanLine(scan.settings),
        ]
      : ['not scored yet'],
    body: () => {
      if (against === null || heads === null)
        return headGridBody({ spec: model.spec, order, groups, heads, thumbnails, score, matches })
      const drawn = {
        shown: withBoth(heads, score, against, selected),
        x: score,
        y: against,
        hue,
        matches,
        selected,
      }
      return chartFigure((c) => scatterOption(drawn, 'light', c), 640, 520)
    },
    table: () => ({
      columns: ['layer', 'head', 'score', 'value', 'low', 'high', 'n', 'why'],
      rows: (heads ?? []).flatMap(({ layer, head, scores: of }) =>
        Object.entries(of).map(([name, { value, low, high, n, why }]) => [
          layer,
          head,
          name,
          value,
          low,
          high,
          n,
          why ?? null,
        ]),
      ),
    }),
    reproduce: {
      kind: 'scan',
      request: { model: model.path, ...(scan ? requestOf(scan.settings) : {}) },
    },
  }
}

/** The same scan again. Sequences that were given by the person are not in the settings. */
function requestOf({ scores, length, batch, seed, bos }: ScanReply['settings']) {
  return { scores, length, batch, bos, ...(seed === null ? {} : { seed }) }
}
