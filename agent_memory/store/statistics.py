"""Counts for health and the page: how much of everything there is, none of it content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apsw import Connection


@dataclass(frozen=True, slots=True)
class RecordCount:
    """How many records share a namespace, a state and a type."""

    namespace: str
    status: str
    type: str
    records: int


@dataclass(frozen=True, slots=True)
class HourCount:
    """How many rows the audit gained in one UTC hour (`2026-11-30T08`) by one action of one client."""

    hour: str
    action: str
    client: str
    rows: int


def records_by_status(conn: Connection) -> dict[str, int]:
    """How many records are in each state; states without one are absent."""
    rows = conn.execute("SELECT status, count(*) FROM records GROUP BY status")
    return {str(status): int(str(count)) for status, count in rows}


def record_counts(conn: Connection) -> list[RecordCount]:
    """All records by namespace, state and type, in that order; one pass over a narrow index."""
    rows = conn.execute(
        "SELECT namespace, status, type, count(*) FROM records INDEXED BY records_by_type"
        " GROUP BY namespace, status, type"
    )
    return [RecordCount(*row) for row in rows]


def audit_hours(conn: Connection, *, since: str) -> list[HourCount]:
    """Audited rows by hour, action and client, oldest hour first; counted as they are written, kept for two days.

    Args:
      since: a time as stored; its hour is the first one returned.
    """
    rows = conn.execute(
        "SELECT hour, action, client, rows FROM audit_hours WHERE hour >= ? ORDER BY hour, action, client",
        (since[:13],),
    )
    return [HourCount(*row) for row in rows]


def sessions_closed(conn: Connection) -> int:
    """How many sessions were closed, ever."""
    # The condition of the index itself, so that only its few pages are read.
    return int(
        conn.execute(
            "SELECT count(*) FROM audit INDEXED BY audit_sessions WHERE action = 'session-close' AND outcome = 'ok'"
        ).get
    )


def queries_asked(conn: Connection) -> int:
    """How many queries of the retention time are remembered."""
    return int(conn.execute("SELECT count(*) FROM queries").get)


def database_bytes(path: Path) -> int:
    """What the database takes on disk, its log included; a file that goes meanwhile counts nothing."""
    return sum(_size(file) for file in path.parent.glob(f"{path.name}*"))


def totals(counts: Sequence[RecordCount], status: str) -> int:
    """The records of one state among counts."""
    return sum(count.records for count in counts if count.status == status)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
