/**
 * Relation probes from files and text fields. In: JSON of a template, or JSONL of triples. Out: templates, and triples
 * whose prompts are not tokenized yet. Pure: the app and the command line read the same. Throws `bad-prompt` that names
 * the line and the rule.
 */
import { HeadscopeError } from '../errors.ts'
import type { RelationTemplate } from './relation.ts'

export interface GivenTriple {
  readonly prompt: { readonly text: string } | { readonly ids: readonly number[] }
  readonly query: number
  readonly target: number
  readonly distractor: number
}

/** Each line an object with "text" or "ids", and the positions "query", "target" and "distractor". */
export function parseTriples(content: string): GivenTriple[] {
  const triples = content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, i) => (line.trim() === '' ? [] : [tripleOf(line, i + 1)]))
  if (triples.length === 0)
    throw wrong(
      'There is no triple; give a line such as {"text": "…", "query": 9, "target": 8, "distractor": 3}.',
    )
  return triples
}

/** An object with "template" (a text, or several) and "slots" (words by name). */
export function parseTemplateFile(content: string): RelationTemplate {
  const rule =
    'a template is {"template": "A {distractor} {other} near the {target} {query}", "slots": {"target": ["blue"], …}}'
  let value: unknown
  try {
    value = JSON.parse(content.replace(/^\uFEFF/, ''))
  } catch {
    throw wrong(`The file is not JSON; ${rule}.`)
  }
  const { template, slots, name, note } = (value ?? {}) as Record<string, unknown>
  const isWords = (list: unknown): list is string[] =>
    Array.isArray(list) && list.length > 0 && list.every((word) => typeof word === 'string')
  if (typeof template !== 'string' && !isWords(template)) throw wrong(`The file has no "template"; ${rule}.`)
  if (!slots || typeof slots !== 'object' || !Object.values(slots).every(isWords))
    throw wrong(`The file has no "slots", each a list of words; ${rule}.`)
  return {
    name: typeof name === 'string' ? name : 'own template',
    ...(typeof note === 'string' ? { note } : {}),
    template,
    slots: slots as RelationTemplate['slots'],
  }
}

// --- Internal helpers ---

function wrong(message: string): HeadscopeError {
  return new HeadscopeError('bad-prompt', message)
}

function tripleOf(line: string, number: number): GivenTriple {
  let value: Record<string, unknown> | null
  try {
    value = JSON.parse(line) as Record<string, unknown> | null
  } catch {
    throw wrong(`Line ${number} is not JSON; each line is one object.`)
  }
  const { text, ids } = value ?? {}
  const place = (name: string): number => {
    const at = value?.[name]
    if (Number.isInteger(at)) return at as number
    throw wrong(`Line ${number} has no position “${name}”; give the index of its token, a whole number.`)
  }
  const places = { query: place('query'), target: place('target'), distractor: place('distractor') }
  if (typeof text === 'string' && text !== '') return { prompt: { text }, ...places }
  if (Array.isArray(ids) && ids.length > 0 && ids.every((id) => Number.isInteger(id) && id >= 0))
    return { prompt: { ids: ids as number[] }, ...places }
  throw wrong(`Line ${number} has neither "text" nor "ids" (whole numbers); give one of them.`)
}
