"""Backups: one tar file with a consistent copy of the database, the token digests and a manifest, and its way back."""

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import apsw

from agent_memory.store import audit, checkup, records, token_file
from agent_memory.store.connection import (
    DATABASE,
    DataFolderError,
    close_database,
    locked_folder,
    open_database,
    open_reader,
    refusals,
)
from agent_memory.store.migrations import SAFETY_FOLDER, migrations

T = TypeVar("T")

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
MANIFEST_MAX_BYTES: Final = 1 << 20
MEMBERS: Final = (DATABASE, token_file.FILE_NAME)
REPLACED: Final = "replaced-"  # folders in safety/ with what a restore replaced
STAMP: Final = "%Y%m%dT%H%M%SZ"
UNDO: Final = timedelta(days=1)  # in which whoever restored the wrong backup finds out; retention waits for that long
RESTORING: Final = ".restore-"  # folders with what a restore unpacked, while it runs
_PRIVATE: Final = 0o600
_CHUNK: Final = 1 << 20
_SIDES: Final = ("-wal", "-shm", "-journal")


class BackupError(Exception):
    """A backup cannot be made or used; the text says why. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself: who made it and when, the schema, and size and digest of each file in it."""

    version: str
    schema: int
    made_at: str
    files: dict[str, dict[str, Any]]


def make(folder: Path, target: Path, *, version: str, now: datetime, replace: bool = False) -> Manifest:
    """Write a backup beside a running server or without one. The file appears whole and checked, or not at all.

    Args: folder: the data folder; target: the new file (mode 0600); replace: whether it may exist already.
    Raises: BackupError: the target exists, or the copy is damaged; DataFolderError: there is no readable database;
      OSError: the target's folder cannot be written.
    """
    target = target.absolute()
    if target.exists() and not replace:
        raise BackupError(f"{target} exists; choose another name, or replace it with --force")
    if not target.parent.is_dir():
        raise BackupError(f"{target.parent} is no folder; make it, or choose another place")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as scratch:
        copy = Path(scratch) / DATABASE
        schema = _copy_database(folder / DATABASE, copy)
        parts = {DATABASE: copy}
        if (folder / token_file.FILE_NAME).exists():
            parts[token_file.FILE_NAME] = Path(scratch) / token_file.FILE_NAME
            shutil.copyfile(folder / token_file.FILE_NAME, parts[token_file.FILE_NAME])
        files = {name: {"bytes": part.stat().st_size, "sha256": _digest(part)} for name, part in parts.items()}
        manifest = Manifest(version, schema, f"{now:%Y-%m-%dT%H:%M:%SZ}", files)
        archive = Path(scratch) / "backup.tar"
        with _created(archive) as out, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, MANIFEST, _manifest_json(manifest), now)
            for name, part in parts.items():
                _add(tar, name, part, now)
        archive.replace(target)
        _sync_folder(target.parent)
    return manifest


def restore(folder: Path, source: Path, *, now: datetime) -> tuple[Manifest, Path | None]:
    """Put a backup's data in place of a data folder's.

    Everything is verified before anything is touched. What was there goes to `safety/replaced-<time>/`. The database
    changes in one rename: a crash leaves the old one or the new one.

    Returns: the backup's manifest, and the folder with what was replaced (None: there was nothing).
    Raises: BackupError: not a backup, damaged, or of a newer version; DataFolderError: a server holds the folder.
    """
    with locked_folder(folder), tempfile.TemporaryDirectory(prefix=RESTORING, dir=folder) as scratch:
        manifest = _unpack(source, Path(scratch))
        _verify(Path(scratch), manifest)
        aside = _set_aside(folder, now)
        for name in manifest.files:
            (Path(scratch) / name).replace(folder / name)
        _sync_folder(folder)
    return manifest, aside


def revived(folder: Path, aside: Path) -> list[str]:
    """Ids of records that a hard forget had erased, and that a restore has brought back from an older backup, in order.

    Args: aside: the folder with what the restore replaced. If that is too damaged to tell, none is named.
    """
    try:
        gone = _read(aside, audit.erased)
        return _read(folder, lambda conn: [each for each in sorted(gone) if records.is_stored(conn, each)])
    except (DataFolderError, apsw.Error):
        return []


def _read(folder: Path, work: Callable[[apsw.Connection], T]) -> T:
    reader = open_reader(folder / DATABASE)
    try:
        return work(reader)
    finally:
        reader.close()


def undo(folder: Path, aside: Path, *, version: str, now: datetime) -> tuple[Manifest, Path | None]:
    """Put back what a restore replaced, from its folder in `safety/`; what is there now is kept likewise.

    Returns and raises as `restore`.
    """
    with locked_folder(folder):  # made where it is missing, and refused before the copy is made
        pass
    with tempfile.TemporaryDirectory(prefix=RESTORING, dir=folder) as scratch:
        packed = Path(scratch) / "backup.tar"
        make(aside, packed, version=version, now=now)
        return restore(folder, packed, now=now)


def undoable(folder: Path, now: datetime) -> datetime | None:
    """When the latest restore was, if it is so recent that what it replaced is still to be kept from retention."""
    recent: list[datetime] = []
    for each in (folder / SAFETY_FOLDER).glob(f"{REPLACED}*"):
        try:
            made = datetime.strptime(each.name.removeprefix(REPLACED), STAMP).replace(tzinfo=UTC)
        except ValueError:  # renamed by hand
            continue
        if made <= now < made + UNDO:
            recent.append(made)
    return max(recent, default=None)


def drop_replaced(folder: Path) -> int:
    """Remove what restores replaced: after an erasure it may still hold the text. Returns: how many folders went."""
    old = list((folder / SAFETY_FOLDER).glob(f"{REPLACED}*"))
    for each in old:
        shutil.rmtree(each)
    return len(old)


def _copy_database(source: Path, copy: Path) -> int:
    """A consistent copy, checked. Returns: its schema version."""
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
    reader = open_reader(source)
    try:
        with refusals(source):
            reader.execute("VACUUM INTO ?", (str(copy),))
    finally:
        reader.close()
    return _check_copy(copy, f"{source} is damaged; see agent-memory doctor")


def _check_copy(path: Path, otherwise: str) -> int:
    """The schema version of a database that is sound. Raises: BackupError with `otherwise` in front of the fault."""
    reader = open_reader(path)
    try:
        with refusals(path):
            faults = checkup.faults(reader)
            schema = int(reader.pragma("user_version"))
    finally:
        reader.close()
    if faults:
        raise BackupError(f"{otherwise} ({faults[0]})")
    return schema


def _unpack(source: Path, scratch: Path) -> Manifest:
    try:
        with tarfile.open(source, mode="r:") as tar:
            first = tar.next()
            if first is None or first.name != MANIFEST or not first.isreg() or first.size > MANIFEST_MAX_BYTES:
                raise BackupError(f"{source} is no backup of Agent Memory")
            manifest = _read_manifest(source, _opened(tar, first).read())
            for member in tar:
                if member.name == MANIFEST:
                    continue
                if member.name not in manifest.files or not member.isreg() or (scratch / member.name).exists():
                    raise BackupError(f"{source} holds something unexpected")
                with _opened(tar, member) as packed, _created(scratch / member.name) as out:
                    shutil.copyfileobj(packed, out, _CHUNK)
    except tarfile.TarError:
        raise BackupError(f"{source} is no backup of Agent Memory, or it is damaged") from None
    return manifest


def _read_manifest(source: Path, content: bytes) -> Manifest:
    try:
        found = json.loads(content)
        made_by = found["format"]
        manifest = Manifest(str(found["version"]), int(found["schema"]), str(found["made_at"]), dict(found["files"]))
        digests = [str(file["sha256"]) for file in manifest.files.values()]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupError(f"{source} has no readable manifest") from None
    newest = migrations()[-1].number
    if made_by != FORMAT or manifest.schema > newest:
        raise BackupError(
            f"{source} was made by version {manifest.version[:40]} (schema {manifest.schema}), and this one knows "
            f"schemas up to {newest}; install that version or a later one"
        )
    if DATABASE not in manifest.files or not set(manifest.files) <= set(MEMBERS) or not all(digests):
        raise BackupError(f"{source} has no readable manifest")
    return manifest


def _verify(scratch: Path, manifest: Manifest) -> None:
    for name, file in manifest.files.items():
        part = scratch / name
        if not part.exists() or _digest(part) != file["sha256"]:
            raise BackupError(f"{name} in the backup is damaged: it differs from the manifest; nothing was changed")
    schema = _check_copy(scratch / DATABASE, "the database in the backup is damaged; nothing was changed")
    if schema != manifest.schema:
        raise BackupError("the database in the backup has another schema than the manifest says")
    if token_file.FILE_NAME in manifest.files:
        token_file.known(scratch)


def _set_aside(folder: Path, now: datetime) -> Path | None:
    """Keep the present data under another name, leaving the files themselves to be renamed over."""
    present = [folder / name for name in MEMBERS if (folder / name).exists()]
    if not present:
        return None
    aside = folder / SAFETY_FOLDER / f"{REPLACED}{now:{STAMP}}"
    if aside.exists():  # two within a second
        return _set_aside(folder, now + timedelta(seconds=1))
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    aside.mkdir(mode=0o700)
    _fold_log(folder / DATABASE)
    for file in present:
        try:
            os.link(file, aside / file.name)
        except OSError:  # a file system without hard links
            shutil.copy2(file, aside / file.name)
    # A log that could not be folded in belongs to the old database; SQLite would play it into the new one.
    for side in _SIDES:
        left = folder / (DATABASE + side)
        if left.exists():
            left.replace(aside / left.name)
    _sync_folder(aside)
    return aside


def _fold_log(path: Path) -> None:
    """Write the WAL back into a database that is about to be replaced; one too damaged for that stays as it is."""
    if path.exists():
        try:
            close_database(open_database(path).connection)
        except (DataFolderError, apsw.Error):
            return


def _manifest_json(manifest: Manifest) -> bytes:
    shown = {
        "format": FORMAT,
        "version": manifest.version,
        "schema": manifest.schema,
        "made_at": manifest.made_at,
        "files": manifest.files,
    }
    return json.dumps(shown, indent=1).encode() + b"\n"


def _add(tar: tarfile.TarFile, name: str, content: bytes | Path, now: datetime) -> None:
    """A member with mode 0600 and no owner: neither user nor machine is told."""
    import io

    info = tarfile.TarInfo(name)
    info.mode, info.mtime = _PRIVATE, int(now.timestamp())
    info.size = len(content) if isinstance(content, bytes) else content.stat().st_size
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as packed:
        tar.addfile(info, packed)


def _opened(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    packed = tar.extractfile(member)
    assert packed is not None  # a regular member
    return packed


@contextmanager
def _created(path: Path) -> Iterator[IO[bytes]]:
    """A new private file, on disk when the block ends."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE)
    with open(handle, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # Windows cannot open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
