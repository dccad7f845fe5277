"""The anchors table: what records are tied to, and the last definitive state of each tie."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from apsw import Connection

from agent_memory.domain.anchors import AnchorState, State
from agent_memory.domain.records import parse_stamp, stamp

_COLUMNS: Final = "record_id, position, anchor, kind, state, misses, checked_at, unavailable_since"


@dataclass(frozen=True, slots=True)
class AnchorRow:
    """An anchor of a record: unchecked, ok or missing; `unavailable_since` while its checker could not look.

    `checked_at` is when a checker that could look last changed anything here.
    """

    record_id: str
    position: int
    anchor: str
    kind: str
    state: str
    misses: int
    checked_at: str | None
    unavailable_since: str | None

    @property
    def anchor_state(self) -> AnchorState:
        """The state as the rules of `domain.anchors` know it."""
        since = self.unavailable_since
        return AnchorState(
            cast(State, self.state), None if since is None else parse_stamp("unavailable_since", since), self.misses
        )


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
        f"SELECT {_COLUMNS} FROM anchors"
        " WHERE record_id IN (SELECT value FROM json_each(?)) ORDER BY record_id, position",
        (json.dumps(list(ids)),),
    )
    for row in rows:
        found.setdefault(str(row[0]), []).append(_row(row))
    return found


def listed(
    conn: Connection, *, namespace: str | None, kind: str | None, state: str | None, limit: int
) -> list[tuple[AnchorRow, str]]:
    """Anchors of live records with their namespace, oldest record first; None leaves a condition out."""
    rows = conn.execute(
        f"SELECT {_COLUMNS}, records.namespace FROM anchors JOIN records ON records.id = record_id"
        " WHERE records.status IN ('active', 'candidate') AND (?1 IS NULL OR records.namespace = ?1)"
        " AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR state = ?3) ORDER BY record_id, position LIMIT ?4",
        (namespace, kind, state, limit),
    )
    return [(_row(row[:-1]), str(row[-1])) for row in rows]


def of_kind(conn: Connection, kind: str) -> list[AnchorRow]:
    """Every anchor of this kind of a live record."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM anchors JOIN records ON records.id = record_id"
        " WHERE kind = ? AND records.status IN ('active', 'candidate') ORDER BY record_id, position",
        (kind,),
    )
    return [_row(row) for row in rows]


def set_state(conn: Connection, row: AnchorRow, state: AnchorState, *, now: str) -> None:
    """Write what is now known of an anchor; a checker that could not look leaves `checked_at` as it is.

    It is named by its place, as no text may be written anew that the screen has learnt to refuse since.
    """
    since = None if state.unavailable_since is None else stamp(state.unavailable_since)
    conn.execute(
        "UPDATE anchors SET state = ?, misses = ?, unavailable_since = ?, checked_at = ?"
        " WHERE record_id = ? AND position = ?",
        (state.state, state.misses, since, now if since is None else row.checked_at, row.record_id, row.position),
    )


def missing(conn: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """The missing anchors of these records, by record id; records without one are absent."""
    found: dict[str, list[str]] = {}
    rows = conn.execute(
        "SELECT record_id, anchor FROM anchors WHERE state = 'missing'"
        " AND record_id IN (SELECT value FROM json_each(?)) ORDER BY record_id, position",
        (json.dumps(list(ids)),),
    )
    for record_id, anchor in rows:
        found.setdefault(str(record_id), []).append(str(anchor))
    return found


def _row(row: tuple[Any, ...]) -> AnchorRow:
    return AnchorRow(*row)
