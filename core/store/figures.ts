/**
 * Pinned figures: the notebook of a workspace. In: a figure as it was drawn, with its numbers and where it comes from.
 * Out: the same later, in the person's order. A figure is whole by itself: no run, scan or checkpoint is needed to show it.
 */
import type Database from 'better-sqlite3'
import { HeadscopeError } from '../errors.ts'
import { checkNote, hasNotebook } from './notes.ts'

export interface FigureInput {
  readonly title: string
  /** The whole figure as one SVG document that embeds all it shows. */
  readonly svg: string
  /** Its numbers; null: more rows than are kept. */
  readonly csv: string | null
  /** Where it comes from, line by line. */
  readonly provenance: readonly string[]
  /** Address of the app's state, without `#`. */
  readonly state: string
  /** What gives the same numbers outside the app; null: nothing does. */
  readonly command: string | null
  readonly script: string | null
  readonly note?: string
}

/** A figure of the list, without its picture and numbers. */
export interface PinnedFigure extends Omit<FigureInput, 'svg' | 'csv' | 'note'> {
  readonly id: number
  readonly note: string
  readonly created: string // ISO time
  /** Bytes of picture and numbers. */
  readonly bytes: number
}

export interface StoredFigure extends PinnedFigure {
  readonly svg: string
  readonly csv: string | null
}

export interface Figures {
  /** Keeps a figure behind the others; its id. Throws `bad-request` for what is no SVG or too large. */
  pinFigure(figure: FigureInput): number
  /** In the person's order. */
  figures(): PinnedFigure[]
  figure(id: number): StoredFigure
  /** Replaces the note of a figure. */
  noteFigure(id: number, text: string): void
  /** Puts these first, in this order; figures that are not named follow as they were. */
  orderFigures(ids: readonly number[]): void
  deleteFigure(id: number): void
}

/** Characters of a figure's picture and of its numbers, at most. */
export const LARGEST_SVG = 8_000_000
export const LARGEST_CSV = 4_000_000

/** Statements over figure. Unknown ids throw `not-found`. */
export function figureTable(db: Database.Database): Figures {
  function pinFigure({ note = '', ...figure }: FigureInput): number {
    check(figure)
    checkNote(note)
    const { title, svg, csv, provenance, state, command, script } = figure
    return Number(
      db
        .prepare(
          `INSERT INTO figure (place, title, svg, csv, provenance, state, command, script, note, created)
           VALUES ((SELECT ifnull(max(place), -1) + 1 FROM figure), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          title,
          svg,
          csv,
          JSON.stringify(provenance),
          state,
          command,
          script,
          note,
          new Date().toISOString(),
        ).lastInsertRowid,
    )
  }

  function figures(): PinnedFigure[] {
    if (!hasNotebook(db)) return []
    return db.prepare<[], Row>(`SELECT ${SUMMARY} FROM figure ORDER BY place, id`).all().map(shaped)
  }

  function figure(id: number): StoredFigure {
    if (!hasNotebook(db)) throw missing(id)
    const row = db
      .prepare<[number], Row & { svg: string; csv: string | null }>(
        `SELECT ${SUMMARY}, svg, csv FROM figure WHERE id = ?`,
      )
      .get(id)
    if (!row) throw missing(id)
    return { ...shaped(row), svg: row.svg, csv: row.csv }
  }

  function noteFigure(id: number, text: string): void {
    checkNote(text)
    if (db.prepare('UPDATE figure SET note = ? WHERE id = ?').run(text, id).changes === 0) throw missing(id)
  }

  function orderFigures(ids: readonly number[]): void {
    db.transaction(() => {
      const known = db.prepare('SELECT id FROM figure ORDER BY place, id').pluck().all() as number[]
      for (const id of ids) if (!known.includes(id)) throw missing(id)
      const first = [...new Set(ids)]
      const place = db.prepare('UPDATE figure SET place = ? WHERE id = ?')
      for (const [i, id] of [...first, ...known.filter((one) => !first.includes(one))].entries())
        place.run(i, id)
    }).immediate()
  }

  function deleteFigure(id: number): void {
    if (db.prepare('DELETE FROM figure WHERE id = ?').run(id).changes === 0) throw missing(id)
  }

  return { pinFigure, figures, figure, noteFigure, orderFigures, deleteFigure }
}

// --- Internal helpers ---

const SUMMARY =
  'id, title, provenance, state, command, script, note, created, length(svg) + ifnull(length(csv), 0) AS bytes'

type Row = Omit<PinnedFigure, 'provenance'> & { readonly provenance: string }

function shaped({ id, title, provenance, state, command, script, note, created, bytes }: Row): PinnedFigure {
  return { id, title, provenance: JSON.parse(provenance), state, command, script, note, created, bytes }
}

function check({ svg, csv, title }: Pick<FigureInput, 'svg' | 'csv' | 'title'>): void {
  if (title.trim() === '')
    throw new HeadscopeError('bad-request', 'A figure of the notebook needs a title; give it one.')
  if (!/^\s*<svg[\s>]/.test(svg) || !/<\/svg>\s*$/.test(svg))
    throw new HeadscopeError(
      'bad-request',
      'The figure is no SVG document: it has to begin with <svg and to end with </svg>.',
    )
  for (const [what, text, most] of [
    ['picture', svg, LARGEST_SVG],
    ['table', csv ?? '', LARGEST_CSV],
  ] as const)
    if (text.length > most)
      throw new HeadscopeError(
        'bad-request',
        `The ${what} of this figure has ${text.length} characters, and the notebook keeps at most ${most}; save it as a file instead.`,
      )
}

function missing(id: number): HeadscopeError {
  return new HeadscopeError('not-found', `Figure ${id} is not in this notebook.`)
}
