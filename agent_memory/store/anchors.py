"""The anchors table: what records are tied to, and the last definitive state of each tie."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from apsw import Connection


@dataclass(frozen=True, slots=True)
class AnchorRow:
    """An anchor of a record: unchecked, ok or missing; `unavailable_since` while its checker could not look."""

    record_id: str
    anchor: str
    kind: str
    state: str
    misses: int
    checked_at: str | None
    unavailable_since: str | None


def replace(conn: Connection, record_id: str, wanted: Sequence[tuple[str, str]]) -> bool:
    """Make these (kind, anchor) pairs the anchors of a record; one it already had keeps its state.

    Returns: whether anything changed.
    """
    before = [row.anchor for row in of(conn, [record_id]).get(record_id, [])]
    after = [anchor for _, anchor in wanted]
    if before == after:
        return False
    conn.execute(
        "DELETE FROM anchors WHERE record_id = ? AND anchor NOT IN (SELECT value FROM json_each(?))",
        (record_id, json.dumps(after)),
    )
    for position, (kind, anchor) in enumerate(wanted):
        conn.execute(
            "INSERT INTO anchors (record_id, anchor, kind, position) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (record_id, anchor) DO UPDATE SET position = excluded.position",
            (record_id, anchor, kind, position),
        )
    return True


def of(conn: Connection, ids: Sequence[str]) -> dict[str, list[AnchorRow]]:
    """The anchors of these records, by record id, in the order their writers gave."""
    found: dict[str, list[AnchorRow]] = {}
    rows = conn.execute(
        "SELECT record_id, anchor, kind, state, misses, checked_at, unavailable_since FROM anchors"
        " WHERE record_id IN (SELECT value FROM json_each(?)) ORDER BY record_id, position",
        (json.dumps(list(ids)),),
    )
    for row in rows:
        found.setdefault(row[0], []).append(AnchorRow(*row))
    return found


def missing(conn: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """The missing anchors of these records, by record id; records without one are absent."""
    found: dict[str, list[str]] = {}
    rows = conn.execute(
        "SELECT record_id, anchor FROM anchors WHERE state = 'missing'"
        " AND record_id IN (SELECT value FROM json_each(?)) ORDER BY record_id, position",
        (json.dumps(list(ids)),),
    )
    for record_id, anchor in rows:
        found.setdefault(record_id, []).append(anchor)
    return found
