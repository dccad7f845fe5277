"""Counts for the page: kept as rows are written, and filled for a database from before they were kept."""

from datetime import UTC, datetime
from pathlib import Path

import apsw

from agent_memory.store import browse, statistics, unused
from agent_memory.store.browse import Filters
from agent_memory.store.connection import DATABASE, open_database
from agent_memory.store.migrations import migrate, migrations

NOW = datetime(2026, 1, 3, tzinfo=UTC)


def opened(path: Path) -> apsw.Connection:
    connection = open_database(path / DATABASE).connection
    migrate(connection, path / DATABASE, now=NOW)
    return connection


def note(conn: apsw.Connection, at: str, action: str = "store") -> None:
    conn.execute("INSERT INTO audit (at, client, action, outcome) VALUES (?, 'c', ?, 'ok')", (at, action))


def test_hours_are_counted_as_rows_are_written_and_kept_for_two_days(tmp_path: Path) -> None:
    conn = opened(tmp_path)
    for at in ("2026-01-01T00:10:00.000Z", "2026-01-02T05:59:59.999Z", "2026-01-02T05:00:00.000Z"):
        note(conn, at)
    assert [(row.hour, row.rows) for row in statistics.audit_hours(conn, since="2026-01-01T00:00:00.000Z")] == [
        ("2026-01-01T00", 1),
        ("2026-01-02T05", 2),
    ]
    note(conn, "2026-01-03T01:00:00.000Z")
    assert [row.hour for row in statistics.audit_hours(conn, since="")] == ["2026-01-02T05", "2026-01-03T01"]
    conn.close()


def test_a_database_from_before_gets_its_last_two_days_counted(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    conn = open_database(path).connection
    for step in migrations():
        if step.name.endswith("_page.sql"):
            break
        conn.execute(step.sql)
        conn.pragma("user_version", step.number)
    for at in ("2025-12-30T00:00:00.000Z", "2026-01-02T05:00:00.000Z", "2026-01-02T05:30:00.000Z"):
        note(conn, at)
    migrate(conn, path, now=NOW)
    assert [(row.hour, row.rows) for row in statistics.audit_hours(conn, since="")] == [("2026-01-02T05", 2)]
    conn.close()


def test_an_empty_database_counts_nothing(tmp_path: Path) -> None:
    conn = opened(tmp_path)
    assert statistics.record_counts(conn) == []
    assert statistics.audit_hours(conn, since="") == []
    assert statistics.sessions_closed(conn) == 0
    assert unused.counting_since(conn) is None
    assert unused.unused(conn, before="9", limit=5) == []
    assert browse.newest(conn, Filters(("active",)), before=None, limit=5) == []
    conn.close()


def test_the_size_of_the_database_counts_its_log_and_survives_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"x" * 10)
    (tmp_path / f"{DATABASE}-wal").write_bytes(b"x" * 5)
    assert statistics.database_bytes(tmp_path / DATABASE) == 15
    assert statistics.database_bytes(tmp_path / "elsewhere" / DATABASE) == 0
