/**
 * Prompts and checkpoints: rows that runs share. In: token ids with text and views, or a checkpoint's facts.
 * Out: the id of the one row that holds exactly that. Cost: about 2 µs per new token, nothing for a known prompt.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import type { TokenView } from '../checkpoint/types.ts'
import { aligned, bytesOf } from './codec.ts'
import type { CheckpointInput, SequenceInput, StoredPromptRow, StoredSequence } from './types.ts'

export interface Prompts {
  /** The row of this sequence, made when it is new. Call inside a transaction. */
  keep(sequence: SequenceInput, tokenizerHash: string | null): number
  read(prompt: number): StoredSequence
  /** Newest first; what an encoder and its decoder read is one entry. */
  list(): StoredPromptRow[]
}

/** Statements over prompt and token. */
export function promptTable(db: Database.Database): Prompts {
  const find = db.prepare('SELECT id FROM prompt WHERE hash = ?').pluck()
  const insert = db.prepare(
    'INSERT INTO prompt (hash, text, ids, tokenizer_hash, created) VALUES (?, ?, ?, ?, ?)',
  )
  const token = db.prepare(
    'INSERT INTO token (prompt, pos, id, text, special, split_group) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const byId = db.prepare<[number], PromptRow>('SELECT id, text, ids FROM prompt WHERE id = ?')
  const tokensOf = db.prepare<[number], TokenRow>(
    'SELECT id, text, special, split_group FROM token WHERE prompt = ? ORDER BY pos',
  )
  const all = db.prepare<[], ListedRow>(`
    SELECT p.id, p.text, p.ids, NULL AS decoder, NULL AS decoder_text, NULL AS decoder_ids FROM prompt p
    WHERE NOT EXISTS (SELECT 1 FROM run_item i WHERE i.prompt = p.id)
      OR EXISTS (SELECT 1 FROM run_item i WHERE i.prompt = p.id AND i.sequence = 'main' AND NOT EXISTS (
        SELECT 1 FROM run_item s WHERE s.run = i.run AND s.item = i.item AND s.sequence = 'source'))
    UNION ALL
    SELECT p.id, p.text, p.ids, d.id, d.text, d.ids
    FROM (SELECT DISTINCT s.prompt AS source, m.prompt AS main FROM run_item s
      JOIN run_item m ON m.run = s.run AND m.item = s.item AND m.sequence = 'main' WHERE s.sequence = 'source') pair
    JOIN prompt p ON p.id = pair.source JOIN prompt d ON d.id = pair.main
    ORDER BY 1 DESC, 4 DESC`)

  function keep(sequence: SequenceInput, tokenizerHash: string | null): number {
    const text = sequence.text ?? null
    const views = sequence.tokens ?? null
    const hash = createHash('sha256')
      .update(
        JSON.stringify([tokenizerHash, text, sequence.ids, views?.map((v) => [v.text, v.special, v.group])]),
      )
      .digest('hex')
    const known = find.get(hash) as number | undefined
    if (known !== undefined) return known
    const ids = bytesOf(Int32Array.from(sequence.ids)) // [pos]
    const id = Number(insert.run(hash, text, ids, tokenizerHash, new Date().toISOString()).lastInsertRowid)
    sequence.ids.forEach((tokenId, pos) => {
      const view = views?.[pos]
      token.run(id, pos, tokenId, view?.text ?? null, view ? Number(view.special) : null, view?.group ?? null)
    })
    return id
  }

  function read(prompt: number): StoredSequence {
    const row = byId.get(prompt)!
    const rows = tokensOf.all(prompt)
    const tokens = rows.some((r) => r.text === null) ? null : rows.map(viewOf)
    return { prompt, ids: idsOf(row.ids), text: row.text, tokens }
  }

  const list = () =>
    all.all().map(({ id, text, ids, decoder, decoder_text, decoder_ids }) => ({
      id,
      text,
      ids: idsOf(ids),
      ...(decoder === null ? {} : { decoder: { id: decoder, text: decoder_text, ids: idsOf(decoder_ids!) } }),
    }))
  return { keep, read, list }
}

/** Token ids of a stored prompt. */
export function idsOf(blob: Uint8Array): number[] {
  const data = aligned(blob, 4)
  return Array.from(new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4))
}

/**
 * The row of a checkpoint, keyed by its content hash; what is new about it (spec, tokenizer) replaces what was known. It
 * keeps its path and name while that path exists and held no other weights: a copy that is opened renames nothing.
 */
export function keepCheckpoint(db: Database.Database, input: CheckpointInput): number {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value))
  const known = db
    .prepare<[string], { path: string; name: string }>(
      `SELECT path, name FROM checkpoint c WHERE content_hash = ?
       AND NOT EXISTS (SELECT 1 FROM checkpoint other WHERE other.path = c.path AND other.id <> c.id)`,
    )
    .get(input.contentHash)
  const { path, name } = known && existsSync(known.path) ? known : input
  return db
    .prepare(
      `INSERT INTO checkpoint (content_hash, path, name, family, config, spec, tokenizer_hash, created)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (content_hash) DO UPDATE SET path = excluded.path, name = excluded.name, family = excluded.family,
         config = ifnull(excluded.config, config), spec = ifnull(excluded.spec, spec),
         tokenizer_hash = ifnull(excluded.tokenizer_hash, tokenizer_hash)
       RETURNING id`,
    )
    .pluck()
    .get(
      input.contentHash,
      path,
      name,
      input.family,
      json(input.config),
      json(input.spec),
      input.tokenizerHash ?? null,
      new Date().toISOString(),
    ) as number
}

// --- Internal helpers ---

interface PromptRow {
  id: number
  text: string | null
  ids: Uint8Array
}

interface ListedRow extends PromptRow {
  decoder: number | null
  decoder_text: string | null
  decoder_ids: Uint8Array | null
}

interface TokenRow {
  id: number
  text: string | null
  special: number | null
  split_group: number | null
}

function viewOf(row: TokenRow): TokenView {
  return { id: row.id, text: row.text!, special: row.special === 1, group: row.split_group }
}
