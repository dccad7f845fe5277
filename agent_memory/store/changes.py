"""Which records a commit changed, for whoever keeps something in memory. Noted by triggers, so no writer forgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from apsw import Connection

_SETUP: Final = """
-- By id and not by seq alone: SQLite gives the seq of an erased record to the next one, in the same commit even.
CREATE TEMP TABLE changed_records (
  seq INTEGER NOT NULL, id TEXT NOT NULL, was_live INTEGER NOT NULL, PRIMARY KEY (seq, id)
) WITHOUT ROWID;
-- Counts every change of a record, whatever it is. Rolled back with what it counts.
CREATE TEMP TABLE records_version (number INTEGER NOT NULL);
INSERT INTO records_version VALUES (0);
CREATE TEMP TRIGGER changed_by_insert AFTER INSERT ON main.records BEGIN
  INSERT OR IGNORE INTO changed_records VALUES (new.seq, new.id, 0);
  UPDATE records_version SET number = number + 1;
END;
-- Statements name columns that they leave as they are; only a change that an index can see counts.
CREATE TEMP TRIGGER changed_by_update AFTER UPDATE OF status, title, content, namespace ON main.records
WHEN (old.status IN ('active', 'candidate')) <> (new.status IN ('active', 'candidate'))
  OR old.title <> new.title OR old.content <> new.content OR old.namespace <> new.namespace BEGIN
  INSERT OR IGNORE INTO changed_records VALUES (old.seq, old.id, old.status IN ('active', 'candidate'));
END;
CREATE TEMP TRIGGER counted_by_update AFTER UPDATE ON main.records BEGIN
  UPDATE records_version SET number = number + 1;
END;
CREATE TEMP TRIGGER changed_by_delete AFTER DELETE ON main.records BEGIN
  INSERT OR IGNORE INTO changed_records VALUES (old.seq, old.id, old.status IN ('active', 'candidate'));
  UPDATE records_version SET number = number + 1;
END;
"""


@dataclass(frozen=True, slots=True)
class ChangedRecord:
    """A record after a commit that touched it. An erased one is not live and has no text."""

    id: str
    was_live: bool
    live: bool
    namespace: str
    title: str
    content: str
    terms: str


class Follower(Protocol):
    """Keeps something in memory in step with the records."""

    def digest(self, changed: Sequence[ChangedRecord]) -> Any:
        """Work out what changes, in the worker thread; must not touch what the event loop reads."""

    def apply(self, digested: Any) -> None:
        """Take it over, on the event loop, before the writers are answered."""


def watch(conn: Connection) -> None:
    """Begin to note changes on this connection."""
    conn.execute(_SETUP)


def version(conn: Connection) -> int:
    """Stands for all records as they are: the same number means that none has changed in anything, nor come or gone.

    Ask in a reading: in a transaction that is undone, a number stands for what never was.
    """
    return int(conn.execute("SELECT number FROM records_version").get)


def take(conn: Connection) -> list[ChangedRecord]:
    """The records that changed since the last call, as they are now; call it after a commit."""
    rows = conn.execute(
        "SELECT changed.id, was_live, coalesce(status IN ('active', 'candidate'), 0), coalesce(namespace, ''),"
        " coalesce(title, ''), coalesce(content, ''), coalesce(terms, '')"
        " FROM changed_records AS changed LEFT JOIN records ON records.seq = changed.seq AND records.id = changed.id"
    ).fetchall()
    if rows:
        conn.execute("DELETE FROM changed_records")
    return [_changed(row) for row in rows]


def _changed(row: tuple[Any, ...]) -> ChangedRecord:
    return ChangedRecord(row[0], bool(row[1]), bool(row[2]), *row[3:])
