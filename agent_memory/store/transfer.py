"""Records with all that hangs on them, out of a database and back into one as they were."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from apsw import Connection

from agent_memory.domain.errors import RecordNotFound
from agent_memory.domain.records import Record
from agent_memory.domain.terms import index_terms
from agent_memory.store import anchors, evidence, records
from agent_memory.store.anchors import AnchorRow
from agent_memory.store.evidence import Observation
from agent_memory.store.statement_screen import composed


@dataclass(frozen=True, slots=True)
class Portable:
    """A record, its place in its session, its anchors in their writers' order, its observations, oldest first."""

    record: Record
    session_place: int | None
    anchors: tuple[AnchorRow, ...]
    observations: tuple[Observation, ...]


def page(conn: Connection, *, namespace: str | None, after: str, limit: int) -> list[Portable]:
    """Records of one namespace or of all, by id, forgotten ones left out.

    Args: after: the id that the last page ended with, or "" for the first page.
    """
    return _with_all(conn, records.by_id_order(conn, namespace, after=after, limit=limit))


def find(conn: Connection, record_id: str) -> Portable | None:
    """The record with exactly this id, in whatever state, or None."""
    try:
        record = records.stored(conn, record_id)
    except RecordNotFound:
        return None
    return _with_all(conn, [record])[0]


def put_back(conn: Connection, given: Portable) -> None:
    """Insert a record as it was: id, revision, state, times, counts, anchors and evidence. Its id must be free."""
    record = given.record
    conn.execute(
        "INSERT INTO records (id, namespace, type, status, revision, confidence, effective_confidence, proof_count,"
        " refutation_count, created_at, updated_at, superseded_by, writer, session, session_place,"
        " origin, model, tags, title, content, terms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            record.namespace,
            record.type,
            record.status,
            record.revision,
            record.confidence,
            record.effective_confidence,
            record.proof_count,
            record.refutation_count,
            record.created_at,
            record.updated_at,
            record.superseded_by,
            record.writer,
            record.session,
            given.session_place,
            record.origin,
            record.model,
            composed(record.tags),
            record.title,
            record.content,
            index_terms(record.title, record.content),
        ),
    )
    conn.executemany(
        "INSERT INTO anchors (record_id, position, anchor, kind, state, misses, checked_at, unavailable_since)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, given.anchors),
    )
    for seen in given.observations:
        evidence.observe(conn, record.id, seen)


def holds_text(conn: Connection, *, namespace: str, record_type: str, title: str, content: str) -> bool:
    """Whether a live record of this namespace and type has exactly this title and content."""
    row = conn.execute(
        "SELECT 1 FROM records WHERE namespace = ? AND status IN ('active', 'candidate') AND type = ? AND title = ?"
        " AND content = ? LIMIT 1",
        (namespace, record_type, title, content),
    ).fetchone()
    return row is not None


def _with_all(conn: Connection, rows: Sequence[Record]) -> list[Portable]:
    ids = [row.id for row in rows]
    ties = anchors.of(conn, ids)
    places = dict(
        conn.execute(
            "SELECT id, session_place FROM records WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),)
        )
    )
    return [
        Portable(row, places[row.id], tuple(ties.get(row.id, ())), tuple(evidence.trail(conn, row.id, limit=-1)))
        for row in rows
    ]
