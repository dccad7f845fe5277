"""Opening the database: WAL and its fallback, and refusals that leave the file as it was."""

import os
import subprocess
import sys
import tempfile
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
from agent_memory.store.migrations import migrate, migrations
from agent_memory.store.worker import Store
from support.world import Ticking


class NoSharedMemory(apsw.VFS):
    """A file system without shared memory, as NFS and virtiofs are: WAL cannot be used on it."""

    def __init__(self, name: str = "no-shm") -> None:
        super().__init__(name, "", iVersion=1)


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


def test_without_shared_memory_the_rollback_journal_serves(tmp_path: Path) -> None:
    vfs = NoSharedMemory()
    path = tmp_path / DATABASE
    opened = open_database(path, vfs=vfs.vfs_name if hasattr(vfs, "vfs_name") else "no-shm")
    assert opened.journal_mode == "delete"
    assert opened.connection.pragma("synchronous") == 2
    migrate(opened.connection, path, now=Ticking()())
    close_database(opened.connection)
    assert not path.with_name(DATABASE + "-wal").exists()
    vfs.unregister()


def test_a_wal_database_moved_to_such_a_file_system_is_served_too(folder: Path) -> None:
    vfs = NoSharedMemory("no-shm-2")
    opened = open_database(folder / DATABASE, vfs="no-shm-2")
    assert opened.journal_mode == "delete"
    assert opened.connection.pragma("user_version") == migrations()[-1].number
    close_database(opened.connection)
    vfs.unregister()


def test_files_are_for_their_owner_alone(folder: Path) -> None:
    assert (folder / DATABASE).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_a_newer_database_is_refused_and_left_as_it_was(folder: Path) -> None:
    with apsw.Connection(str(folder / DATABASE)) as conn:
        conn.pragma("user_version", 9999)
        conn.pragma("journal_mode", "delete")
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
    code = f"from pathlib import Path\nfrom agent_memory.store.connection import *\nlocked_folder(Path({str(folder)!r})).__enter__()"
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
    # Nobody's eyes: root may write everywhere, so the attempt is made as another user.
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
        code = (
            "from pathlib import Path\nfrom datetime import *\nfrom agent_memory.store.worker import Store\n"
            f"with Store(Path({str(folder)!r}), now=lambda: datetime.now(UTC)): pass"
        )
        environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.environ["PATH"]}
        started = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, user=user, env=environment
        )
        assert "DataFolderError" in started.stderr, started.stderr
        assert "cannot write" in started.stderr
        assert (folder / DATABASE).read_bytes() == before
        folder.chmod(0o700)


def test_a_reader_without_a_database_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="start the server once"):
        open_reader(tmp_path / DATABASE)
