/** The scores of a scan, by name. A new one is a file beside this one and a line here. */
import { HeadscopeError } from '../../errors.ts'
import { copying } from './copying.ts'
import { duplicateToken } from './duplicate-token.ts'
import { entropy } from './entropy.ts'
import { firstTokenSink } from './first-token-sink.ts'
import { iclScore } from './icl.ts'
import { induction } from './induction.ts'
import { ioiCopying, ioiNegativeCopying } from './ioi-copying.ts'
import { ngramInduction } from './ngram-induction.ts'
import { firstOccurrence, lastOccurrence } from './occurrence.ts'
import { olssonCopying } from './olsson-copying.ts'
import { ovTop1, ovTop5 } from './ov-top.ts'
import { prefixMatching, prefixMatchingFour } from './prefix-matching.ts'
import { previousToken } from './previous-token.ts'
import { saturation } from './saturation.ts'
import type { AnyScore } from './score.ts'
import { scoreVariance } from './score-variance.ts'
import { successor } from './successor.ts'
import { valueWeightedInduction } from './value-weighted-induction.ts'

/** In the order in which they are shown. */
export const SCORES: readonly AnyScore[] = [
  induction,
  previousToken,
  duplicateToken,
  firstTokenSink,
  prefixMatching,
  prefixMatchingFour,
  firstOccurrence,
  lastOccurrence,
  ngramInduction,
  valueWeightedInduction,
  entropy,
  saturation,
  scoreVariance,
  copying,
  ovTop1,
  ovTop5,
  olssonCopying,
  successor,
  ioiCopying,
  ioiNegativeCopying,
  iclScore,
]

/** The scores with these names; `all` stands for every one. Throws `bad-request` naming the known ones. */
export function scoresNamed(names: readonly string[]): AnyScore[] {
  if (names.includes('all')) return [...SCORES]
  return [...new Set(names)].map((name) => {
    const score = SCORES.find((candidate) => candidate.name === name)
    if (score) return score
    const known = SCORES.map((candidate) => candidate.name).join(', ')
    throw new HeadscopeError('bad-request', `There is no score "${name}"; the scores are ${known}.`)
  })
}
