-- One vector a live record and model; `digest` is the SHA-256 of model, snapshot and text, so a stale one is known.

CREATE TABLE embeddings (
  record_id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
  model TEXT NOT NULL,
  digest TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (record_id, model)
) STRICT, WITHOUT ROWID;
-- Which models have vectors, and all of one, without reading the vectors.
CREATE INDEX embeddings_by_model ON embeddings (model);

-- A record that leaves the live ones takes its vectors along.
CREATE TRIGGER embeddings_leave AFTER UPDATE OF status ON records
WHEN new.status NOT IN ('active', 'candidate') BEGIN
  DELETE FROM embeddings WHERE record_id = new.id;
END;
