/** Prefix matching: in any text, and on the sequences of Olsson et al. */
import { targetsByQuery } from '../repeats.ts'
import type { ScoreSequence } from '../sequences.ts'
import type { PatternScore, Place } from './score.ts'

const places = ({ ids }: ScoreSequence): Place[] =>
  [...targetsByQuery(ids)].map(([query, keys]) => ({ query, keys }))

export const prefixMatching: PatternScore = {
  name: 'prefix_matching',
  title: 'Prefix matching',
  definition:
    'Attention to what followed earlier copies of the current token, in any text: mean over queries q with M(q) not empty of the sum over k in M(q) = {j + 1 : j < q, t_j = t_q, j + 1 < q} of A[q, k]; on the prompts given, else on the scan’s repeated random tokens, where it equals the strict induction score.',
  kind: 'pattern',
  sequences: 'text',
  needs: [],
  places,
}

export const prefixMatchingFour: PatternScore = {
  name: 'prefix_matching_25x4',
  title: 'Prefix matching, 25 × 4',
  definition:
    'Prefix matching after Olsson et al. 2022: 25 random tokens repeated 4 times (with BOS where the scan has it); mean over queries of the copies 2 to 4 of the attention to the token after each earlier copy, summed over the earlier copies. Tokens are drawn from the whole vocabulary without special and added ids, not by frequency.',
  kind: 'pattern',
  sequences: 'four_copies',
  needs: [],
  places,
}
