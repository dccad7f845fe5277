"""Candidates waiting for review: listing them, and the two decisions about one, each at the revision that was read."""

from collections.abc import Mapping
from dataclasses import dataclass

from apsw import Connection

from agent_memory.domain.errors import Conflict
from agent_memory.domain.records import Record
from agent_memory.store import audit, evidence, records
from agent_memory.store.records import Changes


@dataclass(frozen=True, slots=True)
class Seen:
    """A candidate as someone read it; a decision holds for this revision and for no later one."""

    id: str
    revision: int


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decides and when, and the small facts that go to the audit with it."""

    by: str
    at: str
    context: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PendingCandidate:
    """A candidate as a line of a list."""

    id: str
    namespace: str
    type: str
    title: str
    writer: str
    origin: str
    created_at: str


def pending(conn: Connection, *, after: str = "", limit: int) -> list[PendingCandidate]:
    """Candidates of every namespace, oldest first, from behind an id on."""
    rows = conn.execute(
        "SELECT id, namespace, type, title, writer, origin, created_at FROM records INDEXED BY records_pending"
        " WHERE status = 'candidate' AND id > ? ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [PendingCandidate(*row) for row in rows]


def page(conn: Connection, *, after: str = "", limit: int) -> list[Record]:
    """Candidates of every namespace, whole, by id (so oldest first), from behind an id on."""
    return records.candidates(conn, after=after, limit=limit)


def ids(conn: Connection, *, after: str = "", limit: int) -> list[str]:
    """The ids of candidates of every namespace, in order, from behind an id on."""
    rows = conn.execute(
        "SELECT id FROM records INDEXED BY records_pending WHERE status = 'candidate' AND id > ? ORDER BY id LIMIT ?",
        (after, limit),
    )
    return [str(row[0]) for row in rows]


def count(conn: Connection) -> int:
    """How many candidates of every namespace wait."""
    return int(conn.execute("SELECT count(*) FROM records INDEXED BY records_pending WHERE status = 'candidate'").get)


def promote(conn: Connection, seen: Seen, decision: Decision) -> Record:
    """Make a candidate active. Raises: RecordNotFound, Conflict: it is no candidate of that revision any more."""
    record = _candidate(conn, seen)
    records.update(conn, record, Changes(status="active"), now=decision.at)
    evidence.derive(conn, record.id)
    _note(conn, record, "update", {"fields": "status", **decision.context}, decision)
    return records.live(conn, record.id)


def forget(conn: Connection, seen: Seen, decision: Decision) -> Record:
    """Forget a candidate. Raises: RecordNotFound, Conflict: it is no candidate of that revision any more."""
    record = _candidate(conn, seen)
    forgotten = records.forget(conn, record, now=decision.at)
    _note(conn, record, "forget", decision.context, decision)
    return forgotten


def _candidate(conn: Connection, seen: Seen) -> Record:
    record = records.live(conn, seen.id)
    if record.status != "candidate":
        raise Conflict(f"record {record.id} is no candidate any more; it was promoted meanwhile")
    if record.revision != seen.revision:
        raise Conflict(f"record {record.id} changed since it was read (revision {record.revision}); read it again")
    return record


def _note(conn: Connection, record: Record, action: str, context: Mapping[str, str], decision: Decision) -> None:
    audit.note(
        conn,
        at=decision.at,
        client=decision.by,
        action=action,
        record_id=record.id,
        namespace=record.namespace,
        context=context,
    )
