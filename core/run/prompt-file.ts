/**
 * A file of prompts. In: a `.txt` with one text a line, or a `.jsonl` with {"text": …} or {"ids": […]} a line. Out:
 * texts and ids in the order of the file; empty lines are left out.
 */
import { basename } from 'node:path'
import { readText } from '../checkpoint/files.ts'
import { HeadscopeError } from '../errors.ts'

export type FilePrompt = { readonly text: string } | { readonly ids: readonly number[] }

/** Throws `bad-prompt` naming the file, the line and the rule; also for a file without a prompt. */
export function readPromptFile(file: string): FilePrompt[] {
  const name = basename(file)
  const isLines = /\.jsonl$/i.test(file)
  if (!isLines && !/\.txt$/i.test(file))
    throw new HeadscopeError(
      'bad-prompt',
      `${name} is not a file of prompts: give a .txt with one a line, or a .jsonl.`,
    )
  const lines = readText(file, name).split(/\r?\n/)
  const given = lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    return [isLines ? fromJson(line, `${name}, line ${i + 1}`) : { text: line }]
  })
  if (given.length === 0)
    throw new HeadscopeError('bad-prompt', `${name} holds no prompt; write at least one line.`)
  return given
}

// --- Internal helpers ---

function fromJson(line: string, where: string): FilePrompt {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    throw new HeadscopeError(
      'bad-prompt',
      `${where} is not JSON (${(error as Error).message}); write {"text": "…"} or {"ids": […]}.`,
    )
  }
  const { text, ids } = (value ?? {}) as { text?: unknown; ids?: unknown }
  if (typeof text === 'string' && ids === undefined) return { text }
  if (Array.isArray(ids) && text === undefined && ids.every((id) => Number.isSafeInteger(id))) return { ids }
  throw new HeadscopeError(
    'bad-prompt',
    `${where} must hold either "text" or "ids" (a list of whole numbers).`,
  )
}
