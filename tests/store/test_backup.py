"""Backups: made beside a running server, verified before anything is touched, and nothing replaced is lost."""

import io
import json
import os
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from agent_memory.domain.records import draft, new_id
from agent_memory.store import backup, records, token_file
from agent_memory.store.backup import BackupError
from agent_memory.store.connection import DATABASE, DataFolderError, locked_folder, open_database, open_reader
from agent_memory.store.migrations import migrate
from agent_memory.store.token_file import TokenFileError
from support.world import HERE, Ticking

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def filled(folder: Path, *titles: str) -> Path:
    """A data folder with these records and a token file, as a stopped server leaves it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with_content(folder / DATABASE, titles)
    token_file.renew(folder, "codex", lambda: f"agentmem_{titles[0]}")
    return folder


def with_content(path: Path, titles: tuple[str, ...]) -> None:
    connection = open_database(path).connection
    migrate(connection, path, now=NOW)
    clock = Ticking()
    with connection:
        for number, title in enumerate(titles):
            checked = draft(namespace=HERE, record_type="fact", title=title, content=title)
            record_id = new_id(clock(), bytes([number]) * 10)
            records.insert(
                connection, checked, record_id=record_id, status="active", writer="w", origin="agent", now="now"
            )
    connection.close()


def titles(folder: Path) -> list[str]:
    reader = open_reader(folder / DATABASE)
    try:
        return [str(row[0]) for row in reader.execute("SELECT title FROM records ORDER BY id")]
    finally:
        reader.close()


def made(folder: Path, target: Path) -> Path:
    backup.make(folder, target, version="1.2.3", now=NOW)
    return target


def repacked(source: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The archive with each member changed, or dropped where `change` gives None."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for member in old:
            packed = old.extractfile(member)
            assert packed is not None
            content = change(member.name, packed.read())
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return target


def test_a_backup_restores_into_an_empty_folder_with_its_tokens(tmp_path: Path) -> None:
    source = filled(tmp_path / "data", "One", "Two")
    file = made(source, tmp_path / "b.tar")
    assert file.stat().st_mode & 0o777 == 0o600
    manifest, aside = backup.restore(tmp_path / "new", file, now=NOW)
    assert (manifest.version, aside) == ("1.2.3", None)
    assert titles(tmp_path / "new") == ["One", "Two"]
    assert (tmp_path / "new" / token_file.FILE_NAME).read_bytes() == (source / token_file.FILE_NAME).read_bytes()
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "new").iterdir() if file.is_file()} == {0o600}


def test_a_backup_beside_a_writer_holds_what_was_committed_and_no_more(tmp_path: Path) -> None:
    folder = filled(tmp_path / "data", "Committed")
    with locked_folder(folder):
        writer = open_database(folder / DATABASE).connection
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE records SET title = 'Open' WHERE title = 'Committed'")
        file = made(folder, tmp_path / "b.tar")
        writer.execute("ROLLBACK")
        writer.close()
    backup.restore(tmp_path / "new", file, now=NOW)
    assert titles(tmp_path / "new") == ["Committed"]


def test_what_a_restore_replaces_is_kept_aside(tmp_path: Path) -> None:
    file = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    folder = filled(tmp_path / "data", "Present")
    _, aside = backup.restore(folder, file, now=NOW)
    assert titles(folder) == ["Old"]
    assert aside is not None
    assert titles(aside) == ["Present"]
    assert (aside / token_file.FILE_NAME).exists()
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(
        [DATABASE, token_file.FILE_NAME, "server.lock", "safety"]
    )


def test_the_log_of_the_replaced_database_is_not_played_into_the_restored_one(tmp_path: Path) -> None:
    file = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    folder = filled(tmp_path / "data", "Present")
    crashed = open_database(folder / DATABASE).connection
    crashed.execute("UPDATE records SET title = 'In the log'")
    log = (folder / f"{DATABASE}-wal").read_bytes()
    main = (folder / DATABASE).read_bytes()
    crashed.close()
    (folder / DATABASE).write_bytes(main)  # as kill -9 leaves it: the log beside a file without its content
    (folder / f"{DATABASE}-wal").write_bytes(log)
    _, aside = backup.restore(folder, file, now=NOW)
    assert titles(folder) == ["Old"]
    assert aside is not None
    assert titles(aside) == ["In the log"]


def test_a_damaged_present_database_does_not_stop_a_restore(tmp_path: Path) -> None:
    file = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    folder = filled(tmp_path / "data", "Present")
    (folder / DATABASE).write_bytes(b"no database at all" * 1000)
    backup.restore(folder, file, now=NOW)
    assert titles(folder) == ["Old"]


def test_a_restore_is_refused_while_a_server_holds_the_folder(tmp_path: Path) -> None:
    file = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    folder = filled(tmp_path / "data", "Present")
    with locked_folder(folder), pytest.raises(DataFolderError, match="another process"):
        backup.restore(folder, file, now=NOW)
    assert titles(folder) == ["Present"]


def test_an_existing_file_is_replaced_only_when_told(tmp_path: Path) -> None:
    folder = filled(tmp_path / "data", "One")
    target = tmp_path / "b.tar"
    target.write_text("precious")
    with pytest.raises(BackupError, match="exists"):
        made(folder, target)
    assert target.read_text() == "precious"
    backup.make(folder, target, version="1", now=NOW, replace=True)
    assert tarfile.is_tarfile(target)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b.tar", "data"]


def _newer(name: str, content: bytes) -> bytes:
    return json.dumps(json.loads(content) | {"schema": 9999}).encode() if name == backup.MANIFEST else content


def _flipped(name: str, content: bytes) -> bytes:
    return content[:5000] + b"?" + content[5001:] if name == DATABASE else content


def _without_database(name: str, content: bytes) -> bytes | None:
    return None if name == DATABASE else content


def _bad_manifest(name: str, content: bytes) -> bytes:
    return b"{}" if name == backup.MANIFEST else content


@pytest.mark.parametrize(
    ("change", "reason"),
    [(_newer, "schemas up to"), (_flipped, "damaged"), (_without_database, "damaged"), (_bad_manifest, "manifest")],
)
def test_a_backup_that_does_not_hold_leaves_everything_as_it_is(
    tmp_path: Path, change: Callable[[str, bytes], bytes | None], reason: str
) -> None:
    bad = repacked(made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar"), tmp_path / "bad.tar", change)
    folder = filled(tmp_path / "data", "Present")
    before = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    with pytest.raises(BackupError, match=reason):
        backup.restore(folder, bad, now=NOW)
    after = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    assert after == before | {"server.lock": b""}
    assert not [entry for entry in folder.iterdir() if entry.is_dir()]


def test_members_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    good = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    bad = tmp_path / "bad.tar"
    with tarfile.open(good) as old, tarfile.open(bad, "w") as new:
        for member in old:
            new.addfile(member, old.extractfile(member))
        new.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(BackupError, match="unexpected"):
        backup.restore(tmp_path / "new", bad, now=NOW)
    assert not (tmp_path / "outside").exists()


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    good = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    bad = tmp_path / "bad.tar"
    with tarfile.open(good) as old, tarfile.open(bad, "w") as new:
        for member in old:
            if member.name == DATABASE:
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
            new.addfile(member, old.extractfile(member) if member.isreg() else None)
    with pytest.raises(BackupError, match="unexpected"):
        backup.restore(tmp_path / "new", bad, now=NOW)


def test_a_damaged_token_file_in_a_backup_is_refused(tmp_path: Path) -> None:
    source = filled(tmp_path / "old", "Old")
    (source / token_file.FILE_NAME).write_text("{}")
    file = made(source, tmp_path / "b.tar")
    with pytest.raises(TokenFileError):
        backup.restore(tmp_path / "new", file, now=NOW)
    assert not (tmp_path / "new" / DATABASE).exists()


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b" + bytes(40), bytes(10240)])
def test_a_file_that_is_no_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(BackupError, match="no backup"):
        backup.restore(tmp_path / "new", tmp_path / "x.tar", now=NOW)


def test_a_damaged_database_is_not_backed_up(tmp_path: Path) -> None:
    folder = filled(tmp_path / "data", *(f"Title {number}" for number in range(200)))
    connection = apsw.Connection(str(folder / DATABASE))
    connection.execute("DELETE FROM records_fts_docsize WHERE id = 5")
    connection.close()
    with pytest.raises(BackupError, match="full-text index"):
        made(folder, tmp_path / "b.tar")
    assert not (tmp_path / "b.tar").exists()


def test_without_a_database_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="no database"):
        made(tmp_path, tmp_path / "b.tar")


def test_replaced_data_goes_with_the_next_erasure(tmp_path: Path) -> None:
    file = made(filled(tmp_path / "old", "Old"), tmp_path / "b.tar")
    folder = filled(tmp_path / "data", "Present")
    _, aside = backup.restore(folder, file, now=NOW)
    assert aside is not None
    assert backup.drop_replaced(folder) == 1
    assert not aside.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_target_that_cannot_be_written_is_an_error_of_its_own(tmp_path: Path) -> None:
    folder = filled(tmp_path / "data", "One")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(OSError, match="denied"):
        made(folder, closed / "b.tar")
