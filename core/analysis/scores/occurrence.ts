/** Which earlier occurrence a head prefers: the first or the last. */
import { targetsByQuery } from '../repeats.ts'
import type { ScoreSequence } from '../sequences.ts'
import type { PatternScore, Place } from './score.ts'

/** Queries with two or more earlier copies, and the successor of one of them. */
const places =
  (which: 0 | -1) =>
  ({ ids }: ScoreSequence): Place[] =>
    [...targetsByQuery(ids)].flatMap(([query, targets]) =>
      targets.length < 2 ? [] : [{ query, keys: [targets.at(which)!] }],
    )

const text = (which: string) =>
  `Mean attention to the token after the ${which} of several earlier copies: mean over queries with two or more earlier copies, in 25 random tokens repeated 4 times.`

export const firstOccurrence: PatternScore = {
  name: 'induction_first',
  title: 'Induction, first copy',
  definition: text('first'),
  kind: 'pattern',
  sequences: 'four_copies',
  needs: [],
  places: places(0),
}

export const lastOccurrence: PatternScore = {
  name: 'induction_last',
  title: 'Induction, last copy',
  definition: text('last'),
  kind: 'pattern',
  sequences: 'four_copies',
  needs: [],
  places: places(-1),
}
