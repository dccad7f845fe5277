"""The append-only audit: who did what to which record, when, and with what outcome. Never content."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apsw import Connection

from agent_memory.domain.screen import screened
from agent_memory.store.statement_screen import composed

# Rows never go, so a client that goes on asking for what it may not have must not fill the disk with them. Thirty tell
# what it tried; the rest of the hour is counted in `audit_hours`, which the page draws.
REFUSALS_MAX_PER_HOUR: Final = 30
LAST_LISTED: Final = "further refusals of this hour are counted only"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One audited event; `outcome` is ok or refused, `context` small facts such as field and pattern names."""

    seq: int
    at: str
    client: str
    action: str
    outcome: str
    record_id: str | None
    namespace: str | None
    context: dict[str, Any]


def note(
    conn: Connection,
    *,
    at: str,
    client: str,
    action: str,
    outcome: str = "ok",
    record_id: str | None = None,
    namespace: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> None:
    """Append a row, or count it: of a client's refusals only the first in each hour are listed.

    A text in the context that carries a secret is kept as `[screened:<pattern>]`.
    """
    if outcome == "refused":
        listed = _refusals(conn, client, hour=at[:13])
        if listed >= REFUSALS_MAX_PER_HOUR:
            _count(conn, client, action, hour=at[:13])
            return
        if listed == REFUSALS_MAX_PER_HOUR - 1:
            context = {**(context or {}), "more": LAST_LISTED}
    safe = {key: screened(value) if isinstance(value, str) else value for key, value in (context or {}).items()}
    conn.execute(
        "INSERT INTO audit (at, client, action, outcome, record_id, namespace, context) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            at,
            client,
            action,
            outcome,
            record_id,
            None if namespace is None else screened(namespace),
            composed(safe) if safe else None,
        ),
    )


def _refusals(conn: Connection, client: str, *, hour: str) -> int:
    """How many refusals of a client are listed for an hour, as the first 13 characters of a time."""
    sql = "SELECT count(*) FROM audit WHERE outcome = 'refused' AND client = ? AND at >= ? AND at < ? || ':~'"
    return int(conn.execute(sql, (client, hour, hour)).get)


def _count(conn: Connection, client: str, action: str, *, hour: str) -> None:
    """What the trigger on `audit` does for a row."""
    conn.execute(
        "INSERT INTO audit_hours (hour, action, client, rows) VALUES (?, ?, ?, 1)"
        " ON CONFLICT (hour, action, client) DO UPDATE SET rows = rows + 1",
        (hour, action, client),
    )


def erased(conn: Connection) -> set[str]:
    """The ids of all that a hard forget took out."""
    rows = conn.execute("SELECT record_id FROM audit WHERE action = 'forget-hard' AND outcome = 'ok'")
    return {str(row[0]) for row in rows if row[0] is not None}


def was_forgotten(conn: Connection, record_id: str) -> bool:
    """Whether a record was forgotten here, gently or hard; its row may be gone by now."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM audit WHERE record_id = ? AND outcome = 'ok'"
        " AND action IN ('forget', 'forget-hard'))"
    )
    return bool(conn.execute(sql, (record_id,)).get)


def empty(conn: Connection, record_id: str) -> None:
    """Empty the context of every row about a record; a reason may repeat its text."""
    conn.execute("UPDATE audit SET context = NULL WHERE record_id = ? AND context IS NOT NULL", (record_id,))


def latest(conn: Connection, *, limit: int, action: str | None = None) -> list[AuditRow]:
    """The newest rows, newest first, of one action or of all."""
    where, bindings = ("", ()) if action is None else ("WHERE action = ?", (action,))
    rows = conn.execute(
        "SELECT seq, at, client, action, outcome, record_id, namespace, context"
        f" FROM audit {where} ORDER BY seq DESC LIMIT ?",
        (*bindings, limit),
    )
    return [_row(row) for row in rows]


def of_record(conn: Connection, record_id: str, *, limit: int) -> list[AuditRow]:
    """The newest rows about one record, newest first."""
    rows = conn.execute(
        "SELECT seq, at, client, action, outcome, record_id, namespace, context"
        " FROM audit WHERE record_id = ? ORDER BY seq DESC LIMIT ?",
        (record_id, limit),
    )
    return [_row(row) for row in rows]


def _row(row: tuple[Any, ...]) -> AuditRow:
    fields = list(row)
    fields[7] = json.loads(fields[7]) if fields[7] else {}
    return AuditRow(*fields)
