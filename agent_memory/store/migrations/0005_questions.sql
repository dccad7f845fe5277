-- Standing questions with their answers, and the records that each answer rests on.

CREATE TABLE questions (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
  namespace TEXT NOT NULL,
  question TEXT NOT NULL,
  -- The question without case and spacing: one question a namespace and wording.
  wording TEXT NOT NULL,
  client TEXT NOT NULL,
  created_at TEXT NOT NULL,
  -- Digest of the records that an answer would rest on now, as of the last look, NULL before the first.
  current TEXT,
  -- Digest that the last attempt set out to answer from, and when.
  attempted TEXT,
  attempted_at TEXT,
  answer TEXT,
  basis TEXT,
  model TEXT,
  answered_at TEXT,
  UNIQUE (namespace, wording),
  CHECK ((answer IS NULL) = (basis IS NULL) AND (answer IS NULL) = (answered_at IS NULL))
) STRICT;

-- Every record the model was shown for an answer. `cited` marks those that the answer names.
CREATE TABLE answer_sources (
  question_id TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
  record_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  cited INTEGER NOT NULL CHECK (cited IN (0, 1)),
  PRIMARY KEY (question_id, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_sources_by_record ON answer_sources (record_id);

-- An answer may repeat what its sources say: when one of them is forgotten or erased, its text goes in the same
-- transaction, and the question waits for a new answer.
CREATE TRIGGER answers_leave_with_an_erased_source AFTER DELETE ON records BEGIN
  UPDATE questions SET answer = NULL, basis = NULL, model = NULL, answered_at = NULL, attempted = NULL
  WHERE id IN (SELECT question_id FROM answer_sources WHERE record_id = old.id);
  DELETE FROM answer_sources
  WHERE question_id IN (SELECT question_id FROM answer_sources WHERE record_id = old.id);
END;
CREATE TRIGGER answers_leave_with_a_forgotten_source AFTER UPDATE OF status ON records WHEN new.status = 'deleted' BEGIN
  UPDATE questions SET answer = NULL, basis = NULL, model = NULL, answered_at = NULL, attempted = NULL
  WHERE id IN (SELECT question_id FROM answer_sources WHERE record_id = old.id);
  DELETE FROM answer_sources
  WHERE question_id IN (SELECT question_id FROM answer_sources WHERE record_id = old.id);
END;

CREATE INDEX queries_by_namespace ON queries (namespace, seq);
