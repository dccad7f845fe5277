"""Anchors: what in the world a record leans on, how its text is checked, and how reports move its state."""

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from urllib.parse import SplitResult, unquote_plus, urlsplit

from agent_memory.domain.errors import InvalidArgument, SecretRefused

FIELD = "anchors"
Kind = Literal["entity", "path", "host", "url"]
State = Literal["unchecked", "ok", "missing"]
Seen = Literal["ok", "missing", "unavailable"]
KINDS: tuple[Kind, ...] = ("entity", "path", "host", "url")
MAX_ANCHORS = 16  # DESIGN.md section 3
MAX_ANCHOR_CHARS = 1024

# Home Assistant's own rule (core, valid_entity_id): domain.object_id, no leading, trailing or doubled underscore.
_ENTITY = re.compile(r"(?!.*__)[a-z0-9](?:[a-z0-9_]*[a-z0-9])?\.[a-z0-9](?:[a-z0-9_]*[a-z0-9])?")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*")
_HOST_PORT = re.compile(r"(\[[^\]]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True)
class Anchor:
    """One anchor in its canonical spelling; `str(anchor)` is the text that is stored and shown."""

    kind: Kind
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"


@dataclass(frozen=True)
class AnchorState:
    """What is known of an anchor.

    Fields:
      state: the last definitive answer; `unchecked` until there is one.
      unavailable_since: since when its checker could not look (aware UTC), None while it can.
      misses: sweeps in a row that did not find an entity, before that is definitive (see `anchor_sweep`); 0 otherwise.
    """

    state: State = "unchecked"
    unavailable_since: datetime | None = None
    misses: int = 0


@dataclass(frozen=True)
class Change:
    """What one report does.

    Fields:
      after: the anchor's state from now on.
      observation: `missing` or `ok` when one observation of that swap is filed in the record's evidence trail.
      advances: whether the record's revision advances (a change of `state`, and nothing less).
    """

    after: AnchorState
    observation: Literal["ok", "missing"] | None = None
    advances: bool = False


def apply_report(before: AnchorState, seen: Seen, now: datetime) -> Change:
    """The transition for a definitive `ok` or `missing`, or for `unavailable` (seed 001, Anchors).

    `unavailable` keeps the state, files nothing, advances nothing, and starts `unavailable_since` once. A definitive
    answer ends it. The first answer (from `unchecked`) is a change of state and files nothing; a swap between `ok`
    and `missing` files one observation.
    """
    if seen == "unavailable":
        return Change(replace(before, unavailable_since=before.unavailable_since or now))
    swapped = before.state not in {"unchecked", seen}
    return Change(AnchorState(seen), seen if swapped else None, before.state != seen)


def parse(text: str, is_credential_name: Callable[[str], bool]) -> Anchor:
    """Read `entity:…`, `path:…`, `host:…` or `url:…`.

    - entity: `domain.object_id`, lower case.
    - path: absolute, or relative to the checkout of the record's repository; no `..` and no control characters.
    - host: a name or address, with a port or without, lower case; IPv6 with a port in brackets.
    - url: http or https; without userinfo, and without a parameter named as a credential in query or fragment.

    Args: is_credential_name: judges a parameter's name by its words (`access_token` yes, `author` no); the screen's.
    Raises: InvalidArgument("anchors"): not an anchor; SecretRefused("anchors"): a URL that carries a credential.
      Neither repeats the anchor.
    """
    kind, colon, value = text.strip().partition(":")
    kind = kind.lower()
    if not colon or kind not in KINDS:
        raise _refused("expected entity:, path:, host: or url: and its value")
    value = value.strip()
    if not value or len(text) > MAX_ANCHOR_CHARS:
        raise _refused(f"{kind}: needs a value, {MAX_ANCHOR_CHARS} characters at most")
    if not value.isprintable():
        raise _refused(f"{kind}: holds a control character or another that cannot be printed")
    if kind == "url":
        return Anchor("url", _url(value, is_credential_name))
    return _READERS[kind](value)


def parse_all(texts: Sequence[str], is_credential_name: Callable[[str], bool]) -> tuple[Anchor, ...]:
    """Up to 16 anchors, each once, in the order given. Raises: as `parse`."""
    if len(texts) > MAX_ANCHORS:
        raise _refused(f"{len(texts)} anchors; allowed are {MAX_ANCHORS}")
    return tuple(dict.fromkeys(parse(text, is_credential_name) for text in texts))


def _entity(value: str) -> Anchor:
    entity_id = value.lower() if value.isascii() else value
    if len(entity_id) > 255 or not _ENTITY.fullmatch(entity_id):
        raise _refused("entity: expects domain.object_id, such as entity:light.kitchen")
    return Anchor("entity", entity_id)


def _path(value: str) -> Anchor:
    if ".." in re.split(r"[/\\]", value):
        raise _refused("path: holds .., which leaves the checkout it is relative to")
    return Anchor("path", value)


def _host(value: str) -> Anchor:
    if _is_ip(value):
        return Anchor("host", str(ipaddress.ip_address(value)))
    match = _HOST_PORT.fullmatch(value)
    if match is None or (match[2] is not None and not 1 <= int(match[2]) <= 65535):
        raise _refused("host: expects a name or address, with a port from 1 to 65535 or without")
    name = match[1].lower() if match[1].isascii() else match[1]
    bracketed = name.startswith("[")
    if not (_is_ip(name.strip("[]")) if bracketed else _HOST.fullmatch(name)):
        raise _refused("host: expects a name or address, with a port or without")
    return Anchor("host", name if match[2] is None else f"{name}:{int(match[2])}")


def _url(value: str, is_credential_name: Callable[[str], bool]) -> str:
    try:
        url = urlsplit(value)
        _ = url.port  # read for its check only
        host = url.hostname
    except ValueError:
        # the parser's own text would repeat the URL
        raise _refused("url: its host or port cannot be read") from None
    # before anything else is said about it: a torn password can stand in host, path or fragment
    if "@" in url.netloc:
        raise SecretRefused(FIELD, "url-userinfo")
    if any(is_credential_name(name) for name in _parameter_names(url)):
        raise SecretRefused(FIELD, "url-credential-parameter")
    if url.scheme not in {"http", "https"} or not host or " " in value:
        raise _refused("url: expects http://… or https://…")
    return value


def _parameter_names(url: SplitResult) -> list[str]:
    """Names of `name=value` pairs in query and fragment; a fragment may be a route with a query of its own."""
    pairs = re.split(r"[?&;#]", f"{url.query}&{url.fragment}")
    return [unquote_plus(pair.partition("=")[0]).strip() for pair in pairs if "=" in pair]


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _refused(problem: str) -> InvalidArgument:
    return InvalidArgument(FIELD, problem)


_READERS: dict[str, Callable[[str], Anchor]] = {"entity": _entity, "path": _path, "host": _host}
