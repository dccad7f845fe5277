"""Opening the database file: the data folder, the lock on it, pragmas, and the refusals a person can act on."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw
from filelock import FileLock, Timeout

DATABASE: Final = "memory.db"
LOCK: Final = "server.lock"
# Page cache. The system caches the file too: with 16 MiB a search takes 2 % less of the processor at 10,000 records,
# and 2 to 7 % less at 100,000.
CACHE_KIB: Final = 4 * 1024
BUSY_MS: Final = 5_000  # a reader in another process (`export`, `doctor`) may hold a lock that long


class DataFolderError(Exception):
    """The data folder cannot be used; the text says why and what to do. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """A connection ready for use, and the journal mode the file system allowed ("wal" or "delete")."""

    connection: apsw.Connection
    journal_mode: str


@contextmanager
def locked_folder(folder: Path) -> Iterator[Path]:
    """Create the data folder where it is missing and hold it for this process alone.

    Raises: DataFolderError: it cannot be created or written, or another process holds it.
    """
    if not folder.is_absolute():
        raise DataFolderError(f"the data folder must be an absolute path, found {folder}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, blocking=False, mode=0o600)
        lock.acquire()
    except Timeout:
        raise DataFolderError(f"another process is using {folder}; stop it, or choose another folder") from None
    except OSError as error:
        raise DataFolderError(f"cannot write to the data folder {folder}: {error.strerror}") from None
    try:
        yield folder
    finally:
        lock.release()


def open_database(
    path: Path, *, vfs: str | None = None, accept: Callable[[apsw.Connection, Path], None] | None = None
) -> OpenDatabase:
    """Open for writing: WAL where the file system has it, a rollback journal elsewhere, every commit synced.

    Args:
      path: the database file, created with mode 0600 when missing.
      vfs: name of a registered SQLite VFS; the default one when None.
      accept: looks at the database before anything in it is changed, and raises to refuse it.
    Raises: DataFolderError: not a database, corrupt, read-only, or the disk is full.
    """
    created = not path.exists()
    with refusals(path):
        if created:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = apsw.Connection(str(path), vfs=vfs)
        try:
            connection.set_busy_timeout(BUSY_MS)
            shared_memory = _has_shared_memory(connection)
            if connection.readonly("main"):  # SQLite opens a file that it may not write all the same
                raise apsw.ReadOnlyError("opened for reading only")
            if accept is not None:
                accept(connection, path)
            for pragma, value in (
                ("cache_size", -CACHE_KIB),
                ("foreign_keys", True),
                ("secure_delete", True),
                ("trusted_schema", False),
                ("recursive_triggers", True),
                ("temp_store", 2),
            ):
                connection.pragma(pragma, value)
            mode = _journal_mode(connection) if shared_memory else _rollback_journal(connection)
            # WAL commits append to the log, and FULL syncs it, so that an answered write survives a power cut.
            connection.pragma("synchronous", 2)
        except BaseException:
            connection.close()
            raise
    return OpenDatabase(connection, mode)


def open_reader(path: Path) -> apsw.Connection:
    """Open for reading beside a running server. Raises: DataFolderError: missing, corrupt or not a database."""
    if not path.exists():
        raise DataFolderError(f"no database at {path}; start the server once, or name its data folder with --data")
    with refusals(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(BUSY_MS)
        connection.pragma("user_version")
    return connection


def close_database(connection: apsw.Connection) -> None:
    """Fold the WAL back into the file and close. Raises: apsw.Error: the WAL stays; the connection is closed."""
    try:
        fold_log(connection)
    finally:
        connection.close()


def fold_log(connection: apsw.Connection) -> None:
    """Write the WAL back into the file and leave it empty. Raises: apsw.BusyError: a reader still needs it."""
    # Not `pragma("wal_checkpoint(TRUNCATE)")`: apsw quotes the name, and SQLite passes over a pragma it does not know.
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file itself into one clear sentence.

    Raises: DataFolderError in place of them.
    """
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError):
        raise DataFolderError(
            f"{path} is not a readable database; it was left as it is. "
            "Restore a backup, or move the file away to start empty"
        ) from None
    except apsw.FullError:
        raise DataFolderError(f"the disk of {path} is full; free some space and start again") from None
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, PermissionError):
        raise DataFolderError(f"cannot write {path}; check its owner, mode and mount") from None
    except apsw.IOError as error:
        raise DataFolderError(f"reading or writing {path} failed ({error}); check the disk") from None


def _has_shared_memory(connection: apsw.Connection) -> bool:
    """Read the file for the first time. A WAL database on a file system without shared memory can be read only under
    an exclusive lock, which is then taken; `_rollback_journal` gives it back.
    """
    try:
        connection.pragma("user_version")
        return True
    except apsw.CantOpenError:
        connection.pragma("locking_mode", "exclusive")
        connection.pragma("user_version")
        return False


def _journal_mode(connection: apsw.Connection) -> str:
    """Choose WAL by using it once: on NFS and virtiofs the pragma may succeed and the first lock fail."""
    try:
        if connection.pragma("journal_mode", "wal") == "wal":
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("COMMIT")
            return "wal"
    except (apsw.IOError, apsw.CantOpenError, apsw.LockedError, apsw.ProtocolError):
        # The file system has no shared memory or byte-range locks: the rollback journal needs neither.
        connection.pragma("locking_mode", "exclusive")
    return _rollback_journal(connection)


def _rollback_journal(connection: apsw.Connection) -> str:
    mode = str(connection.pragma("journal_mode", "delete"))
    connection.pragma("locking_mode", "normal")
    connection.pragma("user_version")  # the lock is given back at the next access
    return mode
