/** The scores of a scan, by name. */
import { HeadscopeError } from '../../errors.ts'
import { duplicateToken } from './duplicate-token.ts'
import { firstTokenSink } from './first-token-sink.ts'
import { induction } from './induction.ts'
import { previousToken } from './previous-token.ts'
import type { RepeatScore } from './score.ts'

/** In the order in which they are shown. */
export const REPEAT_SCORES: readonly RepeatScore[] = [
  induction,
  previousToken,
  duplicateToken,
  firstTokenSink,
]

/** The scores with these names; `all` stands for every one. Throws `bad-request` naming the known ones. */
export function scoresNamed(names: readonly string[]): RepeatScore[] {
  if (names.includes('all')) return [...REPEAT_SCORES]
  return names.map((name) => {
    const score = REPEAT_SCORES.find((candidate) => candidate.name === name)
    if (score) return score
    const known = REPEAT_SCORES.map((candidate) => candidate.name).join(', ')
    throw new HeadscopeError('bad-request', `There is no score "${name}"; the scores are ${known}.`)
  })
}
