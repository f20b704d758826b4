-- Version 2: one note per head of a checkpoint, and the figures of the notebook.

ALTER TABLE note ADD COLUMN changed TEXT;
CREATE UNIQUE INDEX note_of_head ON note (checkpoint, layer, head)
  WHERE run IS NULL AND experiment IS NULL AND layer IS NOT NULL AND head IS NOT NULL;

-- Figures as they were pinned: each is whole by itself and outlives the run that it came from.
CREATE TABLE figure (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  place INTEGER NOT NULL,   -- order of the notebook
  title TEXT NOT NULL,
  svg TEXT NOT NULL,
  csv TEXT,                 -- NULL: too many rows to be kept
  provenance TEXT NOT NULL, -- JSON list of lines
  state TEXT NOT NULL,      -- address of the app's state, without #
  command TEXT,
  script TEXT,
  note TEXT NOT NULL,
  created TEXT NOT NULL
) STRICT;
CREATE INDEX figure_by_place ON figure (place);
