/**
 * What a person wrote about heads. In: a checkpoint, a head, free text. Out: the same later, in any process. A note belongs
 * to the weights (the content hash), not to a folder. Cost: microseconds.
 */
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { keepCheckpoint } from './prompts.ts'
import type { CheckpointInput } from './types.ts'

export interface HeadNote {
  readonly layer: number
  readonly head: number
  readonly text: string
  /** ISO time of the last change. */
  readonly changed: string
}

export interface Notes {
  /** Notes on the heads of a checkpoint, in layer and head order. */
  headNotes(contentHash: string): HeadNote[]
  /**
   * Writes the note on a head in the place of the one before; a text of spaces only removes it. Returns what is kept.
   * Throws `bad-request` for a text that is too long or a place that is no head.
   */
  saveHeadNote(
    checkpoint: CheckpointInput,
    note: { readonly layer: number; readonly head: number; readonly text: string },
  ): HeadNote | null
}

/** Characters of a note, at most. */
export const LONGEST_NOTE = 20_000

/** Statements over note. */
export function noteTable(db: Database.Database): Notes {
  function headNotes(contentHash: string): HeadNote[] {
    if (!hasNotebook(db)) return []
    return db
      .prepare<[string], HeadNote>(
        `SELECT n.layer, n.head, n.text, ifnull(n.changed, n.created) AS changed
         FROM note n JOIN checkpoint c ON c.id = n.checkpoint
         WHERE c.content_hash = ? AND ${OF_HEAD} ORDER BY n.layer, n.head`,
      )
      .all(contentHash)
  }

  function saveHeadNote(
    checkpoint: CheckpointInput,
    { layer, head, text }: { readonly layer: number; readonly head: number; readonly text: string },
  ): HeadNote | null {
    checkNote(text)
    if (![layer, head].every((index) => Number.isInteger(index) && index >= 0))
      throw new HeadscopeError(
        'bad-request',
        `L${layer}H${head} is no head: layer and head are whole numbers from 0.`,
      )
    const changed = new Date().toISOString()
    return db
      .transaction((): HeadNote | null => {
        const owner = keepCheckpoint(db, checkpoint)
        if (text.trim() === '') {
          db.prepare(
            `DELETE FROM note AS n WHERE n.checkpoint = ? AND n.layer = ? AND n.head = ? AND ${OF_HEAD}`,
          ).run(owner, layer, head)
          return null
        }
        db.prepare(
          `INSERT INTO note (checkpoint, layer, head, text, created, changed) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (checkpoint, layer, head)
             WHERE run IS NULL AND experiment IS NULL AND layer IS NOT NULL AND head IS NOT NULL
             DO UPDATE SET text = excluded.text, changed = excluded.changed`,
        ).run(owner, layer, head, text, changed, changed)
        return { layer, head, text, changed }
      })
      .immediate()
  }

  return { headNotes, saveHeadNote }
}

/** False for a file of an older version that is open for reading, and so was not migrated: it holds no notes. */
export function hasNotebook(db: Database.Database): boolean {
  return (db.pragma('user_version', { simple: true }) as number) >= 2
}

/** Throws `bad-request` when a note is longer than is kept. */
export function checkNote(text: string): void {
  if (text.length > LONGEST_NOTE)
    throw new HeadscopeError(
      'bad-request',
      `The note has ${text.length} characters, and at most ${LONGEST_NOTE} are kept; shorten it.`,
    )
}

// --- Internal helpers ---

const OF_HEAD = 'n.run IS NULL AND n.experiment IS NULL AND n.layer IS NOT NULL AND n.head IS NOT NULL'
