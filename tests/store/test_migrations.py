"""The schema from empty and from every released version, with a safety copy first."""

from pathlib import Path

import apsw
import pytest

from agent_memory.store import migrations as under_test
from agent_memory.store.connection import DATABASE, DataFolderError, open_database
from agent_memory.store.migrations import SAFETY_FOLDER, migrate, migrations
from support.world import Ticking

NOW = Ticking()

KEPT = "INSERT INTO audit (at, client, action, outcome) VALUES ('2026-01-01T00:00:00.000Z', 'c', 'kept', 'ok')"


def open_at(path: Path, version: int) -> apsw.Connection:
    """A database as that schema version left it."""
    connection = open_database(path).connection
    for step in migrations()[:version]:
        with connection:
            connection.execute(step.sql)
            connection.pragma("user_version", step.number)
    return connection


def schema(connection: apsw.Connection) -> list[tuple[str, ...]]:
    return sorted(connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"))


def test_numbers_start_at_one_and_none_is_used_twice() -> None:
    numbers = [step.number for step in migrations()]
    assert numbers[0] == 1
    assert numbers == sorted(set(numbers))


def test_every_table_is_strict() -> None:
    for step in migrations():
        for statement in step.sql.split(";"):
            if "CREATE TABLE" in statement:
                assert "STRICT" in statement, f"{step.name}: {statement[:60]}"


@pytest.mark.parametrize("version", range(len(migrations())))
def test_every_released_schema_becomes_the_newest(tmp_path: Path, version: int) -> None:
    fresh = open_database(tmp_path / "fresh.db").connection
    migrate(fresh, tmp_path / "fresh.db", now=NOW())
    path = tmp_path / DATABASE
    old = open_at(path, version)
    applied = migrate(old, path, now=NOW())
    assert applied == [step.name for step in migrations()[version:]]
    assert schema(old) == schema(fresh)
    assert old.pragma("integrity_check") == "ok"
    assert migrate(old, path, now=NOW()) == []
    old.close()
    fresh.close()


def test_a_database_with_content_is_copied_first_and_only_the_newest_copy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    connection = open_at(path, 1)
    connection.execute(KEPT)
    migrate(connection, path, now=NOW())
    (copy,) = (tmp_path / SAFETY_FOLDER).iterdir()
    assert copy.stat().st_mode & 0o077 == 0
    with apsw.Connection(str(copy)) as kept:
        assert kept.pragma("user_version") == 1
        assert kept.execute("SELECT action FROM audit").get == "kept"
    connection.close()


def test_a_new_database_needs_no_copy(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    connection = open_database(path).connection
    migrate(connection, path, now=NOW())
    assert not (tmp_path / SAFETY_FOLDER).exists()
    connection.close()


def test_a_step_that_fails_leaves_the_schema_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / DATABASE
    connection = open_at(path, 1)
    before = schema(connection)
    broken = under_test.Migration(2, "0002_broken.sql", "CREATE TABLE half (x TEXT) STRICT; CREATE TABLE half (x TEXT)")
    monkeypatch.setattr(under_test, "migrations", lambda: [migrations()[0], broken])
    with pytest.raises(apsw.SQLError):
        migrate(connection, path, now=NOW())
    assert connection.pragma("user_version") == 1
    assert schema(connection) == before
    connection.close()


def test_a_newer_schema_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    connection = open_at(path, len(migrations()))
    connection.pragma("user_version", 9999)
    with pytest.raises(DataFolderError, match="schema 9999"):
        migrate(connection, path, now=NOW())
    connection.close()
