/**
 * A corpus as prompts. In: the content of a file, or what was pasted: one text a line, or JSONL with "text" or "ids".
 * Out: prompts in that order; empty lines are no texts. Pure. Throws an Error that names the line.
 */
import type { PromptInput } from '../../../core/api/contract.ts'

export function parseTexts(content: string, jsonl: boolean): PromptInput[] {
  const lines = content.replace(/^\uFEFF/, '').split(/\r?\n/)
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    return [jsonl ? parseLine(line, i + 1) : { text: line }]
  })
}

/** Texts that are longer than the model's context are read in windows: then both are counted. */
export function textsText(texts: number, windows: number): string {
  const of = texts === 1 ? '1 text' : `${texts} texts`
  return windows === texts ? of : `${windows} windows of ${of}`
}

function parseLine(line: string, number: number): PromptInput {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new Error(`Line ${number} is not JSON; each line of a .jsonl file is one object.`)
  }
  const { text, ids } = (value ?? {}) as { text?: unknown; ids?: unknown }
  if (typeof text === 'string' && text !== '') return { text }
  if (Array.isArray(ids) && ids.length > 0 && ids.every((id) => Number.isInteger(id) && id >= 0))
    return { ids: ids as number[] }
  throw new Error(`Line ${number} has neither "text" nor "ids" (whole numbers); give one of them.`)
}
