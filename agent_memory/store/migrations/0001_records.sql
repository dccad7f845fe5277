-- Records, their full-text index, usage counts, recorded queries, the audit and small server facts.

CREATE TABLE records (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
  namespace TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('decision', 'constraint', 'requirement', 'procedure', 'preference', 'fact',
                                     'failure', 'open-work', 'session-summary')),
  status TEXT NOT NULL CHECK (status IN ('active', 'candidate', 'superseded', 'deleted')),
  revision INTEGER NOT NULL CHECK (revision >= 1),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  effective_confidence REAL NOT NULL CHECK (effective_confidence BETWEEN 0 AND 1),
  proof_count INTEGER NOT NULL DEFAULT 0,
  refutation_count INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  deleted_at TEXT,
  superseded_by TEXT,
  writer TEXT NOT NULL,
  session TEXT,
  -- The record's place among those of its namespace and session, from 1: neighbours in a conversation differ by one.
  session_place INTEGER,
  origin TEXT NOT NULL CHECK (origin IN ('agent', 'extraction', 'import', 'summary')),
  model TEXT,
  tags TEXT NOT NULL,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  terms TEXT NOT NULL,
  CHECK ((status = 'superseded') = (superseded_by IS NOT NULL) OR status = 'deleted'),
  CHECK ((status = 'deleted') = (deleted_at IS NOT NULL))
) STRICT;

-- Newest first within a namespace and state (ids sort by time).
CREATE INDEX records_by_namespace ON records (namespace, status, id);
-- The newest of each type: what a bootstrap lists.
CREATE INDEX records_by_type ON records (namespace, status, type, id);
CREATE INDEX records_by_successor ON records (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX records_by_session ON records (session, namespace, session_place) WHERE session IS NOT NULL;
-- Narrow and covering: full-text search checks scope, state and type of every match without touching the wide rows.
CREATE INDEX records_scope ON records (seq, namespace, status, type);

CREATE VIRTUAL TABLE records_fts USING fts5 (
  title, content, terms,
  content = 'records', content_rowid = 'seq', tokenize = 'porter unicode61 remove_diacritics 2'
);
-- A deleted row leaves no trace of its words in the index.
INSERT INTO records_fts (records_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE records_vocabulary USING fts5vocab (records_fts, row);

-- The index holds exactly the live records, and changes in the statement that changes the row.
CREATE TRIGGER records_index_insert AFTER INSERT ON records WHEN new.status IN ('active', 'candidate') BEGIN
  INSERT INTO records_fts (rowid, title, content, terms) VALUES (new.seq, new.title, new.content, new.terms);
END;
CREATE TRIGGER records_index_delete AFTER DELETE ON records WHEN old.status IN ('active', 'candidate') BEGIN
  INSERT INTO records_fts (records_fts, rowid, title, content, terms)
  VALUES ('delete', old.seq, old.title, old.content, old.terms);
END;
-- One trigger for both halves: SQLite fires several in no promised order, and the old words must go before the new come.
CREATE TRIGGER records_index_update AFTER UPDATE OF status, title, content, terms ON records
WHEN (old.status IN ('active', 'candidate')) <> (new.status IN ('active', 'candidate'))
  OR old.title <> new.title OR old.content <> new.content OR old.terms <> new.terms BEGIN
  INSERT INTO records_fts (records_fts, rowid, title, content, terms)
  SELECT 'delete', old.seq, old.title, old.content, old.terms WHERE old.status IN ('active', 'candidate');
  INSERT INTO records_fts (rowid, title, content, terms)
  SELECT new.seq, new.title, new.content, new.terms WHERE new.status IN ('active', 'candidate');
END;

-- Apart from records, so that a read never rewrites a record or its index.
CREATE TABLE usage (
  record_id TEXT PRIMARY KEY REFERENCES records (id) ON DELETE CASCADE,
  returned INTEGER NOT NULL DEFAULT 0,
  fetched INTEGER NOT NULL DEFAULT 0,
  last_returned_at TEXT,
  last_fetched_at TEXT
) STRICT, WITHOUT ROWID;

-- The demand signal: what sessions asked, and how well full-text search answered.
CREATE TABLE queries (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  client TEXT NOT NULL,
  namespace TEXT NOT NULL,
  query TEXT NOT NULL,
  hits INTEGER NOT NULL,
  coverage REAL NOT NULL
) STRICT;
CREATE INDEX queries_by_time ON queries (at);

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  client TEXT NOT NULL,
  action TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'refused')),
  record_id TEXT,
  namespace TEXT,
  context TEXT
) STRICT;
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_record ON audit (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX audit_by_action ON audit (action, seq);
-- Append-only: a row never goes, and nothing but its context may be emptied (retention).
CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit BEGIN
  SELECT raise(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_keeps_facts BEFORE UPDATE ON audit
WHEN new.context IS NOT NULL OR new.seq <> old.seq OR new.at <> old.at OR new.client <> old.client
  OR new.action <> old.action OR new.outcome <> old.outcome OR new.record_id IS NOT old.record_id
  OR new.namespace IS NOT old.namespace BEGIN
  SELECT raise(ABORT, 'the audit is append-only');
END;
