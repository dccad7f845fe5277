"""Opening the database: WAL and its fallback, and refusals that leave the file as it was."""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from agent_memory.store.connection import (
    DATABASE,
    DataFolderError,
    close_database,
    locked_folder,
    open_database,
    open_reader,
)
from agent_memory.store.migrations import accept, migrate
from agent_memory.store.worker import Store
from support.world import Ticking

NO_SHARED_MEMORY = "unix-dotfile"  # SQLite's own VFS without shared memory, as NFS and virtiofs are: no WAL on it

KEPT = "INSERT INTO audit (at, client, action, outcome) VALUES ('2026-01-01T00:00:00.000Z', 'c', 'kept', 'ok')"


def open_store(folder: Path) -> Store:
    with Store(folder, now=Ticking()) as store:
        pass
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder that held a store, cleanly closed."""
    open_store(tmp_path / "data")
    return tmp_path / "data"


def test_wal_is_used_where_the_file_system_has_it(folder: Path) -> None:
    opened = open_database(folder / DATABASE)
    assert opened.journal_mode == "wal"
    assert opened.connection.pragma("synchronous") == 2
    assert opened.connection.pragma("foreign_keys") == 1
    opened.connection.close()


@pytest.mark.skipif(os.name != "posix", reason="the VFS is POSIX")
def test_without_shared_memory_the_rollback_journal_serves(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    opened = open_database(path, vfs=NO_SHARED_MEMORY)
    assert opened.journal_mode == "delete"
    assert opened.connection.pragma("synchronous") == 2
    migrate(opened.connection, path, now=Ticking()())
    close_database(opened.connection)
    assert not path.with_name(DATABASE + "-wal").exists()


@pytest.mark.skipif(os.name != "posix", reason="the VFS is POSIX")
@pytest.mark.parametrize("killed", [False, True])
def test_a_wal_database_moved_to_such_a_file_system_is_served_with_all_it_holds(tmp_path: Path, killed: bool) -> None:
    here, there = tmp_path / "here" / DATABASE, tmp_path / "there" / DATABASE
    here.parent.mkdir()
    there.parent.mkdir()
    first = open_database(here).connection
    migrate(first, here, now=Ticking()())
    first.execute(KEPT)
    if not killed:
        close_database(first)
    for file in here.parent.glob(f"{DATABASE}*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, there.parent / file.name)
    opened = open_database(there, vfs=NO_SHARED_MEMORY, accept=accept)
    assert opened.journal_mode == "delete"
    assert opened.connection.execute("SELECT action FROM audit").get == "kept"
    with apsw.Connection(str(there), vfs=NO_SHARED_MEMORY) as beside:  # no exclusive lock is left behind
        assert beside.execute("SELECT count(*) FROM audit").get == 1
    close_database(opened.connection)


def test_files_are_for_their_owner_alone(folder: Path) -> None:
    assert (folder / DATABASE).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_a_newer_database_is_refused_and_left_as_it_was(folder: Path) -> None:
    conn = apsw.Connection(str(folder / DATABASE))
    conn.pragma("user_version", 9999)
    assert conn.pragma("journal_mode", "delete") == "delete"
    conn.close()
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(DataFolderError, match="newer version"):
        open_store(folder)
    assert (folder / DATABASE).read_bytes() == before


def test_a_newer_database_in_wal_mode_is_left_as_it_was(folder: Path) -> None:
    conn = apsw.Connection(str(folder / DATABASE))
    conn.pragma("journal_mode", "wal")
    conn.pragma("user_version", 9999)
    conn.pragma("wal_checkpoint(TRUNCATE)")
    conn.close()
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(DataFolderError, match="newer version"):
        open_store(folder)
    assert (folder / DATABASE).read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 40, b"\x00" * 8192])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / DATABASE).write_bytes(content)
    with pytest.raises(DataFolderError, match="not a readable database"):
        open_store(folder)
    assert (folder / DATABASE).read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with apsw.Connection(str(folder / DATABASE)) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(DataFolderError, match="another program"):
        open_store(folder)
    assert (folder / DATABASE).read_bytes() == before


def test_a_corrupt_database_is_refused_and_left_as_it_was(folder: Path) -> None:
    content = bytearray((folder / DATABASE).read_bytes())
    content[100:4096] = b"\xff" * 3996  # the first page: the schema's own tree
    (folder / DATABASE).write_bytes(content)
    with pytest.raises(DataFolderError, match="not a readable database"):
        open_store(folder)
    assert (folder / DATABASE).read_bytes() == bytes(content)


def test_a_second_process_on_the_same_folder_is_refused(folder: Path) -> None:
    code = (
        "from pathlib import Path\nfrom agent_memory.store.connection import locked_folder\n"
        f"locked_folder(Path({str(folder)!r})).__enter__()"
    )
    with locked_folder(folder):
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "another process is using" in second.stderr
    with locked_folder(folder):
        pass  # free again


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(DataFolderError, match="absolute"), locked_folder(Path("data")):
        pass


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(DataFolderError, match="cannot write"):
        open_store(tmp_path / "data")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
@pytest.mark.parametrize("read_only", ["folder", "file"])
def test_a_read_only_folder_or_file_is_refused_in_one_sentence(read_only: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        folder = Path(top) / "data"
        open_store(folder)
        user = 65534 if os.geteuid() == 0 else os.geteuid()
        for path in (Path(top), folder, *folder.iterdir()):
            os.chown(path, user, -1)
            path.chmod(0o700 if path.is_dir() else 0o600)
        target = folder if read_only == "folder" else folder / DATABASE
        target.chmod(0o500 if target.is_dir() else 0o400)
        before = (folder / DATABASE).read_bytes()
        message = _refusal_as(user, folder)
        assert message.startswith("cannot write"), message
        assert (folder / DATABASE).read_bytes() == before
        folder.chmod(0o700)


def _refusal_as(user: int, folder: Path) -> str:
    """What opening the store says to that user. Root may write everywhere, so a child gives its rights up first."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside trio's idle threads: the child starts none
        child = os.fork()
    if child == 0:
        try:
            os.setuid(user)
            open_store(folder)
            answer = "opened"
        except DataFolderError as error:
            answer = str(error)
        except Exception as error:  # noqa: BLE001 - the parent compares the text
            answer = repr(error)
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


def test_a_reader_without_a_database_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="start the server once"):
        open_reader(tmp_path / DATABASE)
