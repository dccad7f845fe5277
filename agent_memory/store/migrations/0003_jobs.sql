-- The durable job queue. A job is a leased row: killed, it is claimed again, so what it does must bear repeating.

CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('extract', 'answer')),
  client TEXT NOT NULL,
  namespace TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'parked')),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at TEXT NOT NULL,
  leased_until TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  error TEXT,
  payload TEXT
) STRICT;
CREATE INDEX jobs_due ON jobs (state, due_at);
-- A standing question has at most one refresh waiting.
CREATE UNIQUE INDEX jobs_one_answer ON jobs (kind, payload) WHERE kind = 'answer' AND state IN ('queued', 'leased');
