-- What a record is anchored to, what witnesses said of it, and the receipts of closed sessions.

CREATE TABLE anchors (
  record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  anchor TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('entity', 'path', 'host', 'url')),
  position INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'unchecked' CHECK (state IN ('unchecked', 'ok', 'missing')),
  misses INTEGER NOT NULL DEFAULT 0,
  checked_at TEXT,
  unavailable_since TEXT,
  PRIMARY KEY (record_id, anchor)
) STRICT, WITHOUT ROWID;
CREATE INDEX anchors_by_kind ON anchors (kind, anchor);
CREATE INDEX anchors_missing ON anchors (record_id, anchor) WHERE state = 'missing';

-- The evidence trail: quotes of witnesses, and one row each time an anchor swaps between ok and missing.
CREATE TABLE observations (
  seq INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  at TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('witness', 'anchor')),
  witness TEXT NOT NULL,
  stance TEXT NOT NULL CHECK (stance IN ('corroborates', 'contradicts')),
  quote TEXT NOT NULL
) STRICT;
CREATE INDEX observations_by_record ON observations (record_id, seq);
-- One witness counts once for each record and stance.
CREATE UNIQUE INDEX observations_once ON observations (record_id, witness, stance) WHERE source = 'witness';

-- A session close by its op_id. Past retention `result` is emptied and the row stays as a tombstone.
CREATE TABLE receipts (
  op_id TEXT PRIMARY KEY,
  client TEXT NOT NULL,
  digest TEXT NOT NULL,
  at TEXT NOT NULL,
  result TEXT
) STRICT, WITHOUT ROWID;
