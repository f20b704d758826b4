/**
 * What a person types for the relation probe, as a request. In: templates with lists of words. Out: the fields of a
 * request. Pure. Throws an Error that names the line and the rule. Triples are read by the engine's own parser.
 */
import type { RelationRequest } from '../../../core/api/contract.ts'

export { parseTriples } from '../../../core/analysis/relation-input.ts'

export type Template = NonNullable<RelationRequest['template']>

/** `texts`: one template a line. `slots`: lines such as `target: blue, red`. */
export function parseTemplate(texts: string, slots: string): Template {
  const template = lines(texts)
  if (template.length === 0)
    throw new Error('Type at least one sentence with {query}, {target} and {distractor}.')
  const words = Object.fromEntries(
    lines(slots).map((line) => {
      const match = /^\{?(\w+)\}?\s*:\s*(.+)$/.exec(line)
      const list = match?.[2]
        ?.split(',')
        .map((word) => word.trim())
        .filter((word) => word !== '')
      if (!match || !list?.length)
        throw new Error(`“${line}” names no words; write a line such as target: blue, red.`)
      return [match[1]!, list] as const
    }),
  )
  const used = template.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!))
  const missing = ['query', 'target', 'distractor', ...used].find((name) => !Object.hasOwn(words, name))
  if (missing !== undefined) throw new Error(`There are no words for {${missing}}; add a line ${missing}: …`)
  return { name: 'own template', template, slots: words }
}

/** The lists of words as they are typed. */
export function formatSlots(slots: Template['slots']): string {
  return Object.entries(slots)
    .map(([name, words]) => `${name}: ${words.join(', ')}`)
    .join('\n')
}

export function formatTexts({ template }: Template): string {
  return typeof template === 'string' ? template : template.join('\n')
}

// --- Internal helpers ---

function lines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
