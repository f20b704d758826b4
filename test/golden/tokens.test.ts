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
  const { text } = JSON.parse(readFileSync(join(FOLDER, name, 'golden.json'), 'utf8')) as {
    text: (string | [string, string])[]
  }
  const golden = readGolden('transformers', name, 'golden.safetensors')
  const rows = idRows(golden.get('input_ids')!)
  expect(warnings).toEqual([])
  text.forEach((line, i) => {
    if (typeof line === 'string') {
      const bos = tokenizer!.addsBos ? `${tokenizer!.bosToken} ` : ''
      const last = tokenizer!.view([rows[i]!.at(-1)!])[0]!
      const end = last.special ? ` ${last.text}` : '' // what an encoder reads ends with its own token
      expect(tokenizer!.encode(line)).toEqual(rows[i])
      expect(tokenizer!.decode(rows[i]!)).toBe(bos + line + end)
    } else {
      const typeIds = idRows(golden.get('token_type_ids')!)[i]
      expect(tokenizer!.encodePair(...line)).toEqual({ ids: rows[i], typeIds })
      expect(tokenizer!.decode(rows[i]!)).toBe(`[CLS] ${line[0]} [SEP] ${line[1]} [SEP]`)
    }
  })
})
