"""Kinds of single values: how each is read from JSON or from one line of text, and what it accepts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import time
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from agent_memory.domain import clients, namespaces
from agent_memory.domain.errors import InvalidArgument
from agent_memory.options.errors import OptionError, described, refuse, yaml_hint

OFF = "off"
MODEL_JOBS = ("extract", "answer", "review")
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_FLAG_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _same(text: str) -> Any:
    return text


@dataclass(frozen=True)
class Kind:
    """One kind of value.

    Fields:
      allowed: what a refusal and the documentation say it accepts.
      read: `(where, value)` → the plain value the program uses; raises OptionError naming `where`.
      from_text: an environment variable's text → the value `read` expects; raises ValueError.
    """

    allowed: str
    read: Callable[[str, Any], Any]
    from_text: Callable[[str], Any] = _same


def whole(low: int, high: int) -> Kind:
    """A whole number from low to high, both included."""
    allowed = f"a whole number from {low} to {high}"

    def read(where: str, value: Any) -> int:
        # NaN and infinity fail the range before int() would raise on them
        if not _is_number(value) or not low <= value <= high or value != int(value):
            raise refuse(where, value, allowed)
        return int(value)

    return Kind(allowed, read, _number_from_text)


def decimal(low: float, high: float) -> Kind:
    """A number from low to high, both included."""
    allowed = f"a number from {low:g} to {high:g}"

    def read(where: str, value: Any) -> float:
        if not _is_number(value) or not low <= value <= high:
            raise refuse(where, value, allowed)
        return float(value)

    return Kind(allowed, read, _number_from_text)


def flag() -> Kind:
    """true or false."""

    def read(where: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse(where, value, "true or false")
        return value

    return Kind("true or false", read, lambda text: _FLAG_WORDS.get(text.lower(), text))


def choice(*words: str) -> Kind:
    """One of a few words."""
    allowed = " or ".join(words)

    def read(where: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise refuse(where, value, allowed)
        return value

    return Kind(allowed, read)


def text(allowed: str, pattern: str, *, hidden: bool = False) -> Kind:
    """One line of printable text of a pattern; a `hidden` one is never shown in a refusal."""

    def read(where: str, value: Any) -> str:
        if not isinstance(value, str) or not value.isprintable() or not re.fullmatch(pattern, value):
            raise refuse(where, value, allowed, hidden=hidden)
        return value

    return Kind(allowed, read)


def url(*, or_off: bool = False) -> Kind:
    """An http or https URL without user, query and fragment, read without a slash at its end; or `off`."""
    allowed = "http://host[:port][/path] or https://…, without user, query and fragment" + (
        ", or off" if or_off else ""
    )

    def read(where: str, value: Any) -> str:
        if or_off and value == OFF:
            return OFF
        if not isinstance(value, str) or not _is_plain_url(value):
            # what is wrong with it may be the password in it
            hidden = isinstance(value, str) and any(mark in value for mark in "@?#")
            hint = yaml_hint(value) if or_off and value is False else ""
            raise refuse(where, value, allowed + hint, hidden=hidden)
        return value.rstrip("/")

    return Kind(allowed, read)


def clock_or_off() -> Kind:
    """A local time of day as HH:MM, or off (None)."""
    allowed = "HH:MM from 00:00 to 23:59, or off"

    def read(where: str, value: Any) -> time | None:
        if value == OFF:
            return None
        match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise refuse(where, value, allowed + yaml_hint(value))
        return time(int(match[1]), int(match[2]))

    return Kind(allowed, read)


def host() -> Kind:
    """A host name or address alone, read in lower case: no scheme, port or path."""
    allowed = "a host name or address alone, without https://, port or path"

    def read(where: str, value: Any) -> str:
        name = value.lower().rstrip(".").strip("[]") if isinstance(value, str) else ""
        if not (_HOST.fullmatch(name) or _is_address(name)):
            raise refuse(where, value, allowed, hidden=isinstance(value, str) and "@" in value)
        return name

    return Kind(allowed, read)


def network() -> Kind:
    """An address or CIDR network."""
    allowed = "an address or a network such as 192.168.1.0/24"

    def read(where: str, value: Any) -> clients.Network:
        try:
            return clients.parse_network(value if isinstance(value, str) else "")
        except InvalidArgument as error:
            raise OptionError(where, f"found {described(value)}; {str(error).removeprefix('ip: ')}") from None

    return Kind(allowed, read)


def namespace() -> Kind:
    """A namespace, read in its canonical spelling."""
    allowed = f"a namespace: {namespaces.FORMS}"

    def read(where: str, value: Any) -> str:
        try:
            return namespaces.validate(value if isinstance(value, str) else "", where)
        except InvalidArgument:
            raise refuse(where, value, allowed) from None

    return Kind(allowed, read)


def model_entry() -> Kind:
    """`kind:model`, read into (kind, model); a model name may hold colons itself."""
    allowed = f"kind:model with kind {', '.join(MODEL_JOBS)}"

    def read(where: str, value: Any) -> tuple[str, str]:
        job, _, model = value.partition(":") if isinstance(value, str) else ("", "", "")
        if job not in MODEL_JOBS or not model or not model.isprintable():
            raise refuse(where, value, allowed)
        return job, model

    return Kind(allowed, read)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number_from_text(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text  # refused by read, which then shows it


def _is_plain_url(value: str) -> bool:
    if not value.isprintable() or " " in value or len(value) > 2048:
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port  # read for its check only
    except ValueError:
        return False
    plain = parts.username is None and not parts.query and not parts.fragment
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and plain


def _is_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True
