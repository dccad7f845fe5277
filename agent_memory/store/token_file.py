"""`client_tokens.json` in the data folder: the SHA-256 of every token this server generated, and never a token."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent_memory.domain.clients import CLIENT_NAME, SHA256_HEX, Client, check_clients, token_digest

FILE_NAME = "client_tokens.json"
VERSION = 1
MAX_BYTES = 1 << 20  # thousands of clients; bounds what a wrong file can cost
_PRIVATE = 0o600


class TokenFileError(Exception):
    """The token file cannot be trusted or written; the text says which file and what to do. Stops the start."""


@dataclass(frozen=True)
class Issued:
    """Clients with the digests they are known by, and the tokens made just now: name → token, shown once."""

    clients: tuple[Client, ...]
    new_tokens: dict[str, str] = field(repr=False)


def settle(folder: Path, clients: Sequence[Client], make_token: Callable[[], str]) -> Issued:
    """Give every client listed by name alone the digest of its generated token, making tokens that are missing.

    A name that is no longer listed alone is dropped from the file, so that a client removed and added back gets a new
    token. The file is on disk before the tokens are returned: a token that was shown always works. A crash in between
    loses the token, not the server; `renew` makes another.

    Args: make_token: `partial(clients.new_token, secrets.token_bytes)`.
    Raises: TokenFileError: the file is damaged or cannot be written; InvalidArgument: as `check_clients`.
    """
    path = folder / FILE_NAME
    kept = _read(path)
    alone = [client.name for client in clients if client.ip is None and client.token_sha256 is None]
    new_tokens = {name: make_token() for name in alone if name not in kept}
    digests = {name: token_digest(new_tokens[name]) if name in new_tokens else kept[name] for name in alone}
    settled = tuple(
        replace(client, token_sha256=digests[client.name]) if client.name in digests else client for client in clients
    )
    check_clients(settled)
    if digests != kept or (digests and not _is_private(path)):
        _write(path, digests)
    return Issued(settled, new_tokens)


def renew(folder: Path, name: str, make_token: Callable[[], str]) -> str:
    """Replace one client's token; the old one stops working when the server next reads the file. Returns the token.

    The caller checks that the options list the client by name alone.

    Raises: TokenFileError: the file is damaged or cannot be written.
    """
    path = folder / FILE_NAME
    token = make_token()
    _write(path, {**_read(path), name: token_digest(token)})
    return token


def known(folder: Path) -> frozenset[str]:
    """The names that have a generated token. Raises: TokenFileError: the file is damaged."""
    return frozenset(_read(folder / FILE_NAME))


def differing(folder: Path, other: Path) -> list[str]:
    """The names that have a token in both folders, and not the same one; none if a file is damaged."""
    try:
        here, there = _read(folder / FILE_NAME), _read(other / FILE_NAME)
    except TokenFileError:
        return []
    return sorted(name for name in here.keys() & there.keys() if here[name] != there[name])


class Watcher:
    """Notices that the token file changed while the server runs, so that `agent-memory token` needs no restart."""

    def __init__(self, folder: Path, clients: Sequence[Client]) -> None:
        self._path = folder / FILE_NAME
        self._clients = tuple(clients)
        self._seen = self._mark()

    def changed(self) -> tuple[Client, ...] | None:
        """The clients with their digests as the file has them now, or None when it did not change or is damaged."""
        mark = self._mark()
        if mark == self._seen:
            return None
        self._seen = mark
        try:
            kept = _read(self._path)
        except TokenFileError:
            return None
        return tuple(
            replace(client, token_sha256=kept[client.name])
            if client.ip is None and client.token_sha256 is None and client.name in kept
            else client
            for client in self._clients
        )

    def _mark(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


def _read(path: Path) -> dict[str, str]:
    """Name → digest; nothing when there is no file yet. Anything unexpected is refused rather than replaced: making
    new tokens over a damaged file would lock every agent out without a word."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TokenFileError(f"{path} cannot be read ({error.strerror})") from None
    try:
        found = json.loads(content) if len(content) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("version") != VERSION or not _are_digests(found.get("tokens")):
        raise TokenFileError(
            f"{path} is damaged or of another version; restore it from a backup, "
            "or delete it to give every client a new token"
        )
    return dict(found["tokens"])


def _are_digests(tokens: object) -> bool:
    return isinstance(tokens, dict) and all(
        CLIENT_NAME.fullmatch(name) and isinstance(digest, str) and SHA256_HEX.fullmatch(digest)
        for name, digest in tokens.items()
    )


def _is_private(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return os.name != "posix" or not mode & 0o077


def _write(path: Path, digests: dict[str, str]) -> None:
    """Replace the file whole: a reader, or a start after a power cut, sees the old tokens or the new ones."""
    content = json.dumps({"version": VERSION, "tokens": digests}, indent=1, sort_keys=True).encode("ascii") + b"\n"
    part = path.with_name(path.name + ".part")
    try:
        part.unlink(missing_ok=True)  # from a crash; O_EXCL then also refuses a link someone put in its place
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        if os.name == "posix":  # Windows cannot open a folder; its rename is journalled
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise TokenFileError(f"{path} cannot be written ({error.strerror}); check the data folder") from None
