"""Numbered schema migrations: every file NNNN_what.sql is applied once, in order, each in its own transaction."""

import re
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Final

import apsw

from agent_memory.store.connection import DataFolderError

SAFETY_FOLDER: Final = "safety"
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: its number is the `user_version` it leaves behind."""

    number: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Every shipped migration, in order; numbers start at 1 and ascend (a test holds this)."""
    found = []
    for entry in resources.files(__name__).iterdir():
        match = _NAME.fullmatch(entry.name)
        if match:
            found.append(Migration(int(match[1]), entry.name, entry.read_text(encoding="utf-8")))
    return sorted(found, key=lambda step: step.number)


def accept(connection: apsw.Connection, path: Path) -> None:
    """Look at a database before anything in it is changed.

    Raises: DataFolderError: it is newer than this program, or another program's.
    """
    newest = migrations()[-1].number
    version = int(connection.pragma("user_version"))
    if version > newest:
        raise DataFolderError(
            f"{path} was written by a newer version (schema {version}, this one knows {newest}); "
            "it was left as it is. Install the newer version again, or choose another data folder"
        )
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if version < 0 or bool(tables) != (version > 0) or (version > 0 and not {"records", "audit"} <= tables):
        raise DataFolderError(
            f"{path} holds the tables of another program; it was left as it is. Choose another data folder"
        )


def migrate(connection: apsw.Connection, path: Path, *, now: datetime) -> list[str]:
    """Bring the schema up to this version's.

    A database with content is copied to `safety/` beside it first, and only the newest copy is kept.
    Returns: the names of the applied migrations, empty when there was nothing to do.
    Raises: DataFolderError: as `accept`.
    """
    accept(connection, path)
    steps = migrations()
    version = int(connection.pragma("user_version"))
    todo = [step for step in steps if step.number > version]
    if todo and version > 0:
        safety_copy(connection, path, version, now)
    for step in todo:
        with connection:
            connection.execute(step.sql)
            connection.pragma("user_version", step.number)
    return [step.name for step in todo]


def safety_copy(connection: apsw.Connection, path: Path, version: int, now: datetime) -> Path:
    """Copy the whole database to `safety/` with mode 0600, then drop the older copies."""
    folder = path.parent / SAFETY_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{path.stem}-schema{version:04d}-{now:%Y%m%dT%H%M%SZ}.db"
    part = target.with_suffix(".part")  # of a copy that a full disk or a power cut ended
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    try:
        connection.execute("VACUUM INTO ?", (str(part),))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    drop_safety_copies(path, keep=target)
    return target


def drop_safety_copies(path: Path, *, keep: Path | None = None) -> None:
    """Remove the safety copies of a database, unfinished ones included, but for one."""
    for copy in (path.parent / SAFETY_FOLDER).glob(f"{path.stem}-schema*"):
        if copy != keep:
            copy.unlink(missing_ok=True)
