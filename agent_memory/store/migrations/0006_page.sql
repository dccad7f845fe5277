-- What the page reads at every refresh, kept so that it costs the same on a hundred records and on a hundred thousand.

-- Audited rows by hour, action and client. The page shows a day; what is older than two goes when a new hour begins.
CREATE TABLE audit_hours (
  hour TEXT NOT NULL CHECK (length(hour) = 13),
  action TEXT NOT NULL,
  client TEXT NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (hour, action, client)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_counts_hours AFTER INSERT ON audit BEGIN
  DELETE FROM audit_hours WHERE hour < strftime('%Y-%m-%dT%H', new.at, '-48 hours');
  INSERT INTO audit_hours (hour, action, client, rows) VALUES (substr(new.at, 1, 13), new.action, new.client, 1)
  ON CONFLICT (hour, action, client) DO UPDATE SET rows = rows + 1;
END;
INSERT INTO audit_hours (hour, action, client, rows)
SELECT substr(at, 1, 13), action, client, count(*) FROM audit
WHERE at >= (SELECT strftime('%Y-%m-%dT%H', max(at), '-48 hours') FROM audit) GROUP BY 1, 2, 3;

CREATE INDEX audit_sessions ON audit (seq) WHERE action = 'session-close' AND outcome = 'ok';
-- Unused records, oldest first.
CREATE INDEX records_active_by_age ON records (created_at, id) WHERE status = 'active';
-- Every pending candidate, oldest first, whatever its namespace.
CREATE INDEX records_pending ON records (id) WHERE status = 'candidate';
