"""What `doctor` looks at. Each check returns findings and changes nothing; one that cannot look says so."""

import http.client
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import apsw
from filelock import FileLock, Timeout

from agent_memory import __version__, config
from agent_memory.encoder.catalogue import recipe_of
from agent_memory.options.errors import OptionError
from agent_memory.store import checkup, token_file
from agent_memory.store.connection import DATABASE, LOCK, DataFolderError, open_reader
from agent_memory.store.migrations import migrations
from agent_memory.store.rescreen import Stored, rescreen
from agent_memory.store.token_file import TokenFileError

if TYPE_CHECKING:
    from agent_memory.config import Settings

FREE_MIN_BYTES: Final = 200 * 1024 * 1024
ANSWER_S: Final = 2.0
NETWORK_FILE_SYSTEMS: Final = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "fuse.sshfs", "afs"}
Level = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `ok`, `note` (worth knowing) or `wrong`; what was looked at, what was found, what to do about it."""

    level: Level
    subject: str
    found: str
    advice: str = ""


def look(data: str | None, options: str | None, host: str, port: int, environment: Mapping[str, str]) -> list[Finding]:
    """Everything, in the order in which a start needs it."""
    folder = config.data_folder(data, environment)
    return [
        program(),
        *option_findings(data, options, environment, folder),
        *folder_findings(folder),
        *database_findings(folder / DATABASE),
        *server_findings(folder, host, port),
    ]


def stored_findings(data: str | None, environment: Mapping[str, str]) -> list[Finding]:
    """Stored texts that today's screen refuses, each with how to be rid of it."""
    path = config.data_folder(data, environment) / DATABASE
    try:
        conn = open_reader(path)
    except DataFolderError as error:
        return [Finding("wrong", "screen", str(error))]
    try:
        stored = list(rescreen(conn))
    finally:
        conn.close()
    if not stored:
        return [Finding("ok", "screen", "no stored text is refused by today's rules")]
    return [
        Finding("wrong", "screen", f"{found.table} {found.row}: {found.column} ({found.pattern})", _remedy(found))
        for found in stored
    ]


def _remedy(found: Stored) -> str:
    if found.table in {"records", "observations", "anchors"}:
        return 'look at the record, and forget it with memory_forget and "hard": true if it is a secret'
    return "it goes with retention (retention_deleted_days)"


def program() -> Finding:
    """Versions, for reports."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("ok", "program", f"agent-memory {__version__}, Python {python}, SQLite {apsw.sqlite_lib_version()}")


def option_findings(
    data: str | None, options: str | None, environment: Mapping[str, str], folder: Path
) -> Iterator[Finding]:
    """The options, and the clients they name."""
    try:
        settings = config.load(data, options, environment)
    except OptionError as error:
        yield Finding("wrong", "options", str(error), "correct it; the server does not start with it")
        return
    source = settings.options_file or "no options file"
    yield Finding("ok", "options", f"{source}, {len(settings.given)} set")
    for name in settings.without_effect():
        yield Finding("note", "options", f"{name} is set and has no effect in this version")
    yield from client_findings(settings, folder)
    if settings.embed_model_dir is not None and settings.embed_url is None:
        yield model_finding(settings.embed_model_dir)


def model_finding(folder: Path) -> Finding:
    """The model that replaces the embedded one; the server starts without it, and then searches by words alone."""
    try:
        recipe = recipe_of(folder)
        missing = [name for name in (recipe.weights, recipe.tokenizer) if not (folder / name).is_file()]
    except ValueError as error:
        return Finding("wrong", "embed_model_dir", str(error), "agent-memory model install NAME makes such a folder")
    if missing:
        return Finding("wrong", "embed_model_dir", f"{folder / missing[0]} is missing", "install the model again")
    return Finding("ok", "embed_model_dir", f"{folder}, {recipe.name}")


def client_findings(settings: "Settings", folder: Path) -> Iterator[Finding]:
    """Each client with its scopes and what it is known by."""
    try:
        known = token_file.known(folder)
    except TokenFileError as error:
        yield Finding("wrong", "tokens", str(error))
        return
    path = folder / token_file.FILE_NAME
    if path.exists() and os.name == "posix" and path.stat().st_mode & 0o077:
        yield Finding("wrong", "tokens", f"{path} can be read by other users", f"chmod 600 {path}")
    if not settings.clients:
        yield Finding("wrong", "clients", "none", "list at least one in the option clients; nobody can call")
    for client in settings.clients:
        scopes = ", ".join(sorted(client.scopes)) or "no scope"
        if client.ip is not None and "read" not in client.scopes:
            remedy = "known by its address it may read at most: give it the scope read, or a token instead of ip"
            yield Finding("wrong", f"client {client.name}", f"{scopes}; it can do nothing", remedy)
        elif client.ip is not None:
            yield Finding("ok", f"client {client.name}", f"{scopes}; by its address {client.ip}, reads at most")
        elif client.token_sha256 is not None:
            yield Finding("ok", f"client {client.name}", f"{scopes}; token made elsewhere")
        elif client.name in known:
            yield Finding("ok", f"client {client.name}", f"{scopes}; generated token")
        else:
            yield Finding(
                "note", f"client {client.name}", f"{scopes}; no token yet", "the next start makes and shows it"
            )


def folder_findings(folder: Path) -> Iterator[Finding]:
    """The data folder: there, ours, private, writable, on a file system that suits, with room."""
    if not folder.exists():
        yield Finding("note", "data folder", f"{folder} does not exist yet", "the first start makes it")
        return
    if not folder.is_dir():
        yield Finding("wrong", "data folder", f"{folder} is no folder", "move the file away or choose another --data")
        return
    yield _access(folder)
    kind = file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        yield Finding("note", "file system", f"{kind}, over a network", "a local disk is faster and safer for SQLite")
    else:
        yield Finding("ok", "file system", kind)
    free = shutil.disk_usage(folder).free
    if free < FREE_MIN_BYTES:
        yield Finding("wrong", "disk", f"{free >> 20} MiB free", "free some space; writes fail when it is full")
    else:
        yield Finding("ok", "disk", f"{free >> 20} MiB free")


def _access(folder: Path) -> Finding:
    status = folder.stat()
    mode = f"mode {status.st_mode & 0o7777:04o}"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = "give it to the user the server runs as, and mount it writable"
        return Finding("wrong", "data folder", f"{folder} cannot be written, {mode}, owner {_owner(folder)}", advice)
    if os.name == "posix" and status.st_uid != os.geteuid():
        return Finding(
            "note", "data folder", f"{folder} belongs to {_owner(folder)}, {mode}", "check it is the server's user"
        )
    if os.name == "posix" and status.st_mode & 0o077:
        return Finding("note", "data folder", f"{folder} is open to other users, {mode}", f"chmod 700 {folder}")
    return Finding("ok", "data folder", f"{folder}, {mode}, owner {_owner(folder)}")


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (KeyError, NotImplementedError, OSError):
        return str(path.stat().st_uid)


def file_system(folder: Path) -> str:
    """The type of the file system as Linux names it, "unknown" elsewhere."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    real = str(folder.resolve())
    for line in mounts:
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].replace("\\040", " ")
        inside = point == "/" or real == point or real.startswith(point + "/")
        if inside and len(point) >= len(best):  # a later mount on the same point covers the earlier
            best, kind = point, right.split(" ")[0]
    return kind


def database_findings(path: Path) -> Iterator[Finding]:
    """The database: readable, of a schema this program knows, sound, private."""
    if not path.exists():
        yield Finding("note", "database", "none yet", "the first start makes it")
        return
    if os.name == "posix" and path.stat().st_mode & 0o077:
        yield Finding("wrong", "database", f"{path} can be read by other users", f"chmod 600 {path}")
    try:
        reader = open_reader(path)
    except DataFolderError as error:
        yield Finding("wrong", "database", str(error))
        return
    try:
        yield from _content_findings(reader, path)
    except (apsw.BusyError, apsw.LockedError):
        yield Finding("note", "database", "locked by a running server for now", "try again in a moment")
    except apsw.Error as error:
        advice = "restore a backup, or move the file away to start empty"
        yield Finding("wrong", "database", f"cannot be read ({type(error).__name__})", advice)
    finally:
        reader.close()


def _content_findings(reader: apsw.Connection, path: Path) -> Iterator[Finding]:
    schema, newest = int(reader.pragma("user_version")), migrations()[-1].number
    journal = reader.pragma("journal_mode")
    size = sum(part.stat().st_size for part in path.parent.glob(f"{path.name}*"))  # the log included
    about = f"schema {schema}, journal {journal}, {size >> 10} KiB"
    if schema > newest:
        advice = "install the newer version again"
        yield Finding("wrong", "database", f"{about}; written by a newer version (this one knows {newest})", advice)
        return
    if schema < newest:
        yield Finding("note", "database", about, f"the next start brings it to schema {newest}, after a safety copy")
    found = checkup.faults(reader)
    for fault in found:
        yield Finding("wrong", "database", fault, "stop the server, keep a copy of the file, and restore a backup")
    if not found:
        yield Finding("ok", "database", f"{about}, sound")


def server_findings(folder: Path, host: str, port: int) -> Iterator[Finding]:
    """Who holds the data folder, and what answers at the port."""
    held = is_held(folder)
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    answer = server_at(host, port)
    if answer is None:
        if held:
            yield Finding(
                "wrong",
                "server",
                f"a process holds {folder} and nothing answers at {where}",
                "name its --host and --port, or look at its log",
            )
        else:
            yield Finding("ok", "server", f"not running; {where} is free")
    elif not answer:
        yield Finding("wrong", "server", f"another program answers at {where}", "choose another --port for one of them")
    elif not held:
        yield Finding(
            "note",
            "server",
            f"version {answer} answers at {where} and works on another data folder",
            "name that folder with --data to look at it",
        )
    elif answer != __version__:
        yield Finding("note", "server", f"version {answer} runs at {where}; installed is {__version__}", "restart it")
    else:
        yield Finding("ok", "server", f"version {answer} runs at {where}")


def is_held(folder: Path) -> bool:
    """Whether a process holds the folder's lock."""
    if not (folder / LOCK).exists():
        return False
    try:
        with FileLock(folder / LOCK, blocking=False, mode=0o600):
            return False
    except Timeout:
        return True
    except OSError:
        return False  # the finding on the folder itself says what is wrong


def server_at(host: str, port: int) -> str | None:
    """The version of the Agent Memory that answers there, "" for anything else that does, None for nothing."""
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        connection.connect()
    except OSError:
        return None
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        body = json.loads(response.read(4096))
        name, _, version = (response.getheader("Server") or "").partition("/")
    except (OSError, ValueError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
    return version if name == "agent-memory" and isinstance(body, dict) and body.get("ok") is True else ""
