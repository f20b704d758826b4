/**
 * The example of the relation probe: which adjective belongs to the noun? "A green forest surrounded the blue creature"
 * asks the query `creature` for `blue` and not for `green`. In the first sentence the right adjective is the nearer
 * one, in the second the farther one, so that a head which only prefers near tokens, or adjectives, does not win.
 */
import type { RelationTemplate } from './relation.ts'

export const RELATION_EXAMPLE: RelationTemplate = {
  name: 'adjective of the noun',
  note: 'The noun at the end should attend to its own adjective rather than to that of the other noun.',
  template: [
    'A {distractor} {other} surrounded the {target} {query}',
    'There was a {target} {query} in a {distractor} {other}, and the {query}',
  ],
  slots: {
    target: ['blue', 'red', 'old', 'little'],
    distractor: ['green', 'white', 'great', 'dark'],
    query: ['creature', 'house', 'man', 'girl'],
    other: ['forest', 'river', 'hill', 'wood'],
  },
}
