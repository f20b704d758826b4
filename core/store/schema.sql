-- Version 1 of the workspace database. Read as text by migrate.ts; later versions are further migrations.
-- Blobs are little-endian. Times are ISO 8601 in UTC. Objects that are not asked for by column are JSON text.

CREATE TABLE checkpoint (
  id INTEGER PRIMARY KEY,
  content_hash TEXT NOT NULL UNIQUE, -- of the tensors: the same weights are one row wherever they lie
  path TEXT NOT NULL,                -- where it was seen first, or last where that is no more
  name TEXT NOT NULL,
  family TEXT NOT NULL,
  config TEXT,
  spec TEXT,
  tokenizer_hash TEXT,
  created TEXT NOT NULL
) STRICT;

CREATE TABLE prompt (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE, -- over ids, text, token texts and tokenizer: the same prompt is one row
  text TEXT,
  ids BLOB NOT NULL,         -- int32 [pos]
  tokenizer_hash TEXT,
  created TEXT NOT NULL
) STRICT;

CREATE TABLE token (
  prompt INTEGER NOT NULL REFERENCES prompt(id) ON DELETE CASCADE,
  pos INTEGER NOT NULL,
  id INTEGER NOT NULL,
  text TEXT,           -- as shown; null when no tokenizer was there
  special INTEGER,
  split_group INTEGER, -- first position of the character that this token is a part of
  PRIMARY KEY (prompt, pos)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_by_id ON token (id, prompt);

CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: a link to a deleted run must not show another
  checkpoint INTEGER REFERENCES checkpoint(id),
  model_name TEXT NOT NULL,
  provenance TEXT NOT NULL,
  spec TEXT,
  warnings TEXT NOT NULL,
  edits INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  created TEXT NOT NULL,
  bytes INTEGER NOT NULL DEFAULT 0,
  complete INTEGER NOT NULL DEFAULT 0, -- set last
  writer_host TEXT NOT NULL,
  writer_pid INTEGER NOT NULL,
  writer_start TEXT NOT NULL
) STRICT;
CREATE INDEX run_by_checkpoint ON run (checkpoint);
CREATE INDEX run_incomplete ON run (id) WHERE complete = 0;

CREATE TABLE run_item (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  item INTEGER NOT NULL,
  sequence TEXT NOT NULL, -- main, or source: what an encoder reads beside a decoder
  prompt INTEGER NOT NULL REFERENCES prompt(id),
  loss REAL,
  PRIMARY KEY (run, item, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_item_by_prompt ON run_item (prompt);

CREATE TABLE prediction (
  run INTEGER NOT NULL,
  item INTEGER NOT NULL,
  top INTEGER NOT NULL,  -- places per position
  data BLOB NOT NULL,    -- float64 [pos, 1 + 3 top]: loss (-1: none), then id (NaN: none), logit, prob (-1: none)
  PRIMARY KEY (run, item),
  FOREIGN KEY (run) REFERENCES run(id) ON DELETE CASCADE
) STRICT;

CREATE TABLE activation (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  item INTEGER NOT NULL,
  hook TEXT NOT NULL,
  layer INTEGER,
  head INTEGER,          -- first head of the blob, for patterns; else null
  heads INTEGER,         -- how many heads follow each other in the blob
  shape TEXT NOT NULL,   -- one head's [query, key] for patterns, else the item's whole shape
  axes TEXT NOT NULL,
  query_sequence TEXT NOT NULL,
  key_sequence TEXT NOT NULL,
  codec TEXT NOT NULL CHECK (codec IN ('tri', 'full', 'band')),
  dtype TEXT NOT NULL CHECK (dtype IN ('f16', 'f32')),
  band INTEGER,          -- keys per row, for codec band
  data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX activation_place ON activation (run, item, hook, ifnull(head, -1));

-- All weights of 0.2 or more of one item, packed (edges.ts): a search reads these blocks, never the patterns.
CREATE TABLE edge_block (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  item INTEGER NOT NULL,
  hook TEXT NOT NULL,    -- with * in place of the layer
  edges INTEGER NOT NULL,
  width INTEGER NOT NULL, -- bytes per position: 1, 2 or 4
  data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX edge_block_place ON edge_block (run, item, hook);

CREATE TABLE thumbnail (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  item INTEGER NOT NULL,
  hook TEXT NOT NULL,     -- with * in place of the layer
  rows INTEGER NOT NULL,  -- at most 32
  columns INTEGER NOT NULL,
  codec TEXT NOT NULL CHECK (codec IN ('tri', 'full')),
  heads TEXT NOT NULL,    -- [[layer, head], …] in the order of the blob
  data BLOB NOT NULL      -- uint8, 255 = weight 1
) STRICT;
CREATE UNIQUE INDEX thumbnail_place ON thumbnail (run, item, hook);

-- Scans, sweeps, comparisons. A plan of independent cells: what is in experiment_cell need not be computed again,
-- and shards of one plan (same plan_hash) are joined cell by cell.
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  name TEXT,
  checkpoint INTEGER REFERENCES checkpoint(id),
  plan TEXT NOT NULL,
  plan_hash TEXT NOT NULL,
  cells INTEGER NOT NULL, -- how many the plan has
  result TEXT,
  created TEXT NOT NULL,
  complete INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX experiment_by_plan ON experiment (plan_hash, checkpoint);

CREATE TABLE experiment_cell (
  experiment INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  cell INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  run INTEGER REFERENCES run(id) ON DELETE SET NULL,
  seconds REAL,
  PRIMARY KEY (experiment, cell)
) STRICT, WITHOUT ROWID;
CREATE INDEX experiment_cell_by_run ON experiment_cell (run) WHERE run IS NOT NULL;

CREATE TABLE head_score (
  experiment INTEGER NOT NULL REFERENCES experiment(id) ON DELETE CASCADE,
  checkpoint INTEGER NOT NULL REFERENCES checkpoint(id),
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  score TEXT NOT NULL,      -- name of the definition
  parameters TEXT NOT NULL,
  n INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  value REAL,
  low REAL,
  high REAL,
  why TEXT,
  PRIMARY KEY (experiment, layer, head, score)
) STRICT, WITHOUT ROWID;
CREATE INDEX head_score_by_checkpoint ON head_score (checkpoint, score, value);

CREATE TABLE note (
  id INTEGER PRIMARY KEY,
  checkpoint INTEGER REFERENCES checkpoint(id) ON DELETE CASCADE,
  run INTEGER REFERENCES run(id) ON DELETE CASCADE,
  experiment INTEGER REFERENCES experiment(id) ON DELETE CASCADE,
  layer INTEGER,
  head INTEGER,
  text TEXT NOT NULL,
  created TEXT NOT NULL
) STRICT;
CREATE INDEX note_by_run ON note (run);
CREATE INDEX note_by_checkpoint ON note (checkpoint);
CREATE INDEX note_by_experiment ON note (experiment);
