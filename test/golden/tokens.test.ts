/** Texts of the reference checkpoints become exactly the reference's ids, and come back as they were. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openTokenizer } from '../../core/index.ts'
import { FIXTURES, idRows, readGolden } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'transformers')
const CASES = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory())

test.each(CASES.map((entry) => entry.name))('%s', (name) => {
  const { tokenizer, warnings } = openTokenizer(join(FOLDER, name))
  const { text } = JSON.parse(readFileSync(join(FOLDER, name, 'golden.json'), 'utf8')) as { text: string[] }
  const rows = idRows(readGolden('transformers', name, 'golden.safetensors').get('input_ids')!)
  expect(warnings).toEqual([])
  expect(text.map((line) => tokenizer!.encode(line))).toEqual(rows)
  const bos = tokenizer!.addsBos ? `${tokenizer!.bosToken} ` : ''
  expect(rows.map((ids) => tokenizer!.decode(ids))).toEqual(text.map((line) => bos + line))
})
