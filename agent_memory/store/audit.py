"""The append-only audit: who did what to which record, when, and with what outcome. Never content."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apsw import Connection

from agent_memory.domain.screen import screened
from agent_memory.store.statement_screen import composed


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
    """Append a row. A text in the context that carries a secret is kept as `[screened:<pattern>]`."""
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
