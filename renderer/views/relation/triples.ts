/**
 * What a person types or drops for the relation probe, as a request. In: templates with lists of words, or JSONL of
 * triples. Out: the fields of a request. Pure. Throws an Error that names the line and the rule.
 */
import type { RelationRequest } from '../../../core/api/contract.ts'

export type Template = NonNullable<RelationRequest['template']>
export type Triples = NonNullable<RelationRequest['triples']>

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

/** Each line an object with "text" or "ids", and the positions "query", "target" and "distractor". */
export function parseTriples(content: string): Triples {
  const triples = content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, i) => (line.trim() === '' ? [] : [tripleOf(line, i + 1)]))
  if (triples.length === 0)
    throw new Error(
      'There is no triple; give a line such as {"text": "…", "query": 9, "target": 8, "distractor": 3}.',
    )
  return triples
}

// --- Internal helpers ---

function lines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function tripleOf(line: string, number: number): Triples[number] {
  let value: Record<string, unknown> | null
  try {
    value = JSON.parse(line) as Record<string, unknown> | null
  } catch {
    throw new Error(`Line ${number} is not JSON; each line is one object.`)
  }
  const { text, ids } = value ?? {}
  const place = (name: string): number => {
    const at = value?.[name]
    if (Number.isInteger(at)) return at as number
    throw new Error(`Line ${number} has no position “${name}”; give the index of its token, a whole number.`)
  }
  const places = { query: place('query'), target: place('target'), distractor: place('distractor') }
  if (typeof text === 'string' && text !== '') return { prompt: { text }, ...places }
  if (Array.isArray(ids) && ids.length > 0 && ids.every((id) => Number.isInteger(id) && id >= 0))
    return { prompt: { ids: ids as number[] }, ...places }
  throw new Error(`Line ${number} has neither "text" nor "ids" (whole numbers); give one of them.`)
}
