/** Where an edit's values come from, as it is written in the form. In: texts of the fields. Out: a part of an edit, or why not. Pure. */
import type { Edit, MeanPrompt } from '../../../core/run/types.ts'
import { parseIds } from '../tokens/parse-ids.ts'

export type SourceKind = 'number' | 'file' | 'run' | 'ids' | 'mean' | 'texts'

export const SOURCES: readonly { readonly value: SourceKind; readonly label: string }[] = [
  { value: 'number', label: 'a number' },
  { value: 'file', label: 'a vector in a file' },
  { value: 'run', label: 'a stored run' },
  { value: 'ids', label: 'another prompt' },
  { value: 'mean', label: 'a mean over a file of texts' },
  { value: 'texts', label: 'a mean over texts, typed' },
]

/** Fields of each source beside the number: their name, and what stands in them while they are empty. */
export const SOURCE_FIELDS: Readonly<Record<SourceKind, readonly (readonly [string, string])[]>> = {
  number: [],
  file: [
    ['file', '/path/to/steer.safetensors'],
    ['tensor', 'name of the tensor in it'],
  ],
  run: [['run', 'number of the run']],
  ids: [['ids', 'token ids: 0, 5, 9']],
  mean: [['mean', '/path/to/texts.txt']],
  texts: [['texts', 'one a line; ids as [0, 5, 9]']],
}

/** What a mean is taken over: every position of every text, or each position by itself (texts of one length). */
export const MEAN_OVER = [
  { value: 'all', label: 'all positions' },
  { value: 'pos', label: 'each position' },
] as const

export function isMean(kind: SourceKind): boolean {
  return kind === 'mean' || kind === 'texts'
}

/** `by` is the number: the value itself, or what a vector that is added is multiplied with. */
export function valuesIn(
  op: Edit['op'],
  kind: SourceKind,
  by: string,
  fields: Readonly<Record<string, string>>,
  vocabulary: number,
): { readonly part: Partial<Edit>; readonly problem: string | null } {
  const bad = (problem: string) => ({ part: {}, problem })
  if (op === 'zero') return { part: {}, problem: null }
  const number = Number(by)
  const known = by.trim() !== '' && Number.isFinite(number)
  if (op === 'scale') return known ? { part: { by: number }, problem: null } : bad('Give a number.')
  if (kind === 'number') {
    if (by === '-inf') return { part: { value: '-inf' }, problem: null }
    return known ? { part: { value: number }, problem: null } : bad('Give a number.')
  }
  if (op === 'add' && !known) return bad('Give the number that the values are multiplied with.')
  const times = op === 'add' && number !== 1 ? { by: number } : {}
  const [missing] = SOURCE_FIELDS[kind].filter(([name]) => (fields[name] ?? '').trim() === '')
  if (missing) return bad(`Fill in: ${missing[0]}.`)
  const text = (name: string) => fields[name]!.trim()
  const over = fields.over === 'pos' ? { over: 'pos' as const } : {}
  switch (kind) {
    case 'file':
      return { part: { from: { file: text('file'), tensor: text('tensor') }, ...times }, problem: null }
    case 'run':
      return /^\d{1,9}$/.test(text('run'))
        ? { part: { from: { run: Number(text('run')) }, ...times }, problem: null }
        : bad('A run is given by its number in the library.')
    case 'ids': {
      const { ids, problem } = parseIds(text('ids'), vocabulary)
      return problem ? bad(problem) : { part: { from: { ids }, ...times }, problem: null }
    }
    case 'texts': {
      const lines = text('texts')
        .split('\n')
        .filter((line) => line.trim() !== '')
      const mean = lines.map((line): MeanPrompt & { readonly problem?: string } => {
        if (!/^\s*\[[\d\s,]*\]\s*$/.test(line)) return { text: line }
        const { ids, problem } = parseIds(line, vocabulary)
        return { ids, ...(problem ? { problem } : {}) }
      })
      const wrong = mean.find((one) => one.problem)?.problem
      return wrong ? bad(wrong) : { part: { from: { mean, ...over }, ...times }, problem: null }
    }
    default:
      return { part: { from: { mean: text('mean'), ...over }, ...times }, problem: null }
  }
}
