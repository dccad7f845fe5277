"""A git remote: any form git accepts, read into host, owner and repository; which hosts count is not decided here."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_memory.domain.errors import InvalidArgument

FIELD = "remote"
MAX_REMOTE_CHARS = 2048  # far above any real remote; bounds the work done for a hostile one

# The transports of git's URL documentation (git help fetch, "GIT URLS") and the spellings npm and pip write.
SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "ssh+git", "git+https", "git+http")
# GitHub, Gitea and Forgejo all limit owner and repository names to these characters.
_SEGMENT = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SCP = re.compile(r"(?:[^@/:\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\s]+):(?!//)(.*)", re.DOTALL)
_BARE_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True)
class Remote:
    """Where a repository lives: host, owner and repository in lower case, without user, port, `.git` or `www.`."""

    host: str
    owner: str
    repository: str


def parse(remote: str) -> Remote:
    """Read a git remote.

    Accepted: `https://`, `http://`, `git://` and `ssh://` URLs with or without user, password and port; the scp-like
    `user@host:owner/repo`; and `host.name/owner/repo` as people type it. `.git`, slashes at the end and letter case
    do not matter. The port is dropped, because one forge serves ssh and https on different ones.

    Nested groups (`host/group/subgroup/repo`) are refused: GitHub, Gitea and Forgejo have none, and folding the path
    into two names would let two repositories share one memory.

    Raises: InvalidArgument: not such a remote. No message repeats any part of the remote, because a credential can
      stand anywhere in a mistyped one.
    """
    text = remote.strip()
    if not text or len(text) > MAX_REMOTE_CHARS:
        raise _refused(f"expected a git URL of 1 to {MAX_REMOTE_CHARS} characters")
    if any(character.isspace() or not character.isprintable() for character in text):
        raise _refused("a git URL holds no spaces or control characters")
    host, path = _split(text)
    owner, repository = _owner_and_repository(path)
    return Remote(_canonical_host(host), owner, repository)


def _split(text: str) -> tuple[str, str]:
    """Host and path of a remote, whichever of the three forms it has."""
    if "://" in text:
        return _split_url(text)
    scp = _SCP.fullmatch(text)
    if scp is not None and len(scp[1]) > 1:  # one letter is a Windows drive, as git itself decides
        return scp[1].strip("[]"), scp[2]
    host, slash, path = text.partition("/")
    if slash and scp is None and _BARE_HOST.fullmatch(host):
        return host, path
    raise _refused("a path on this machine has no host; pass `name` for a project without a remote")


def _split_url(text: str) -> tuple[str, str]:
    scheme = text.partition("://")[0].lower()
    if scheme == "file":
        raise _refused("a path on this machine has no host; pass `name` for a project without a remote")
    if scheme not in SCHEMES:
        raise _refused(f"unknown transport; known are {', '.join(SCHEMES[:4])} and user@host:owner/repo")
    try:
        url = urlsplit(text)
        host = url.hostname
        _ = url.port  # read for its check only
    except ValueError:
        # the parser's own text would repeat the remote
        raise _refused("the host or port of this URL cannot be read") from None
    if not host:
        raise _refused("this URL names no host")
    if url.query or url.fragment:
        raise _refused("a git remote has no ?query or #fragment")
    return host, url.path


def _owner_and_repository(path: str) -> tuple[str, str]:
    if "@" in path:
        # `https://user:p/w@host/…`: what looks like the host is part of a password
        raise _refused("an @ stands behind the host; write / in a user name or password as %2F")
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > 2:
        raise _refused("expected host/owner/repository; nested groups and pages inside a repository have no namespace")
    if len(segments) < 2:
        raise _refused("expected host/owner/repository; the owner or the repository is missing")
    owner, repository = segments
    if repository.lower().endswith(".git"):
        repository = repository[: -len(".git")]
    for segment in (owner, repository):
        # checked before lower(): some letters outside ASCII become ASCII there (the Kelvin sign becomes k)
        if not _SEGMENT.fullmatch(segment) or segment in {".", ".."}:
            raise _refused("owner and repository are 1 to 100 letters, digits, dots, hyphens and underscores")
    return owner.lower(), repository.lower()


def _canonical_host(host: str) -> str:
    return host.lower().rstrip(".").removeprefix("www.")


def _refused(problem: str) -> InvalidArgument:
    return InvalidArgument(FIELD, problem)
