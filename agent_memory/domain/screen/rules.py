"""What a rule is: a token of known shape, or a structure with a locator and a judge; and the judge of tokens."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from agent_memory.domain.screen import values
from agent_memory.domain.screen.locators import Locator
from agent_memory.domain.screen.work import Spend

BEFORE_BYTES = 120  # how far a judge looks back from its place
AFTER_BYTES = 400  # and ahead: longer than any password, short enough that a place costs microseconds


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of credential, as data.

    It is found by `locators`, or, where no sign tells it, by `shape`: RE2 syntax, matched without regard to case, and
    behind what `before` matches, as in a locator. A shape begins with what is no letter of its own, or at a word: one
    that may begin at every letter makes RE2 build a state for nearly each.
    `refuses` and `keeps` are examples for the tests; in them `{an36}` stands for 36 random letters and digits (`hex`:
    hexadecimal, `up`: upper case and digits, `b64`: base64, `dig`: digits), so that nothing secret-shaped stands in
    the source.
    """

    name: str
    locators: tuple[Locator, ...]
    why: str
    refuses: tuple[str, ...]
    keeps: tuple[str, ...] = ()
    vendor: bool = True  # false: a shape that many providers share
    shape: bytes | None = None
    before: bytes | None = None


class Window(NamedTuple):
    """A place in a reading: what stands before it, the located text, and what follows."""

    before: str
    text: str
    after: str
    joined: bool = False  # lines were joined, so a short value may be the sum of two words


def window(data: bytes | str, start: int, end: int, *, joined: bool) -> Window:
    """The place at data[start:end] and what a judge reads around it, cut at whole characters.

    `data` is UTF-8, or text where it is ASCII, so that the offsets are the same.
    """
    shown = min(end, start + BEFORE_BYTES + AFTER_BYTES)
    before, text, after = data[max(0, start - BEFORE_BYTES) : start], data[start:shown], data[end : end + AFTER_BYTES]
    return Window(_text(before), _text(text), _text(after), joined)


def _text(part: bytes | str) -> str:
    return part if isinstance(part, str) else part.decode("utf-8", "ignore")


Judge = Callable[[Window, Spend], str | None]


def at_once(judge: Callable[[Window], str | None]) -> Judge:
    """A judge that always takes about as long."""
    return lambda place, _: judge(place)


@dataclass(frozen=True, slots=True)
class Structure:
    """A way of writing that states a credential of any provider.

    `locators` find its places, and `shape` (RE2) those that no sign tells; `judge` reads one place and answers the
    pattern's name, or None; it tells its `spend` what it does beyond a first look. `why` explains each pattern name
    that it may answer.
    """

    name: str
    locators: tuple[Locator, ...]
    judge: Judge
    why: dict[str, str]
    refuses: tuple[str, ...]
    keeps: tuple[str, ...] = ()
    cost: int = 10  # microseconds, about, that the first look of `judge` takes at most
    shape: bytes | None = None
    before: bytes | None = None


_EXAMPLE = re.compile(r"(?i)example|redact|your[-_]|placeholder|\*\*|\.\.\.|x{6}|0{10}|here$")


_SIGNS = re.compile(r"[^A-Za-z0-9]+")
_DIGIT = re.compile(r"[0-9]")


def is_live(token: str) -> bool:
    """Whether a string in a vendor's shape is a token and not a placeholder, a class name or a documented example."""
    if _EXAMPLE.search(token):
        return False
    body = _SIGNS.sub("", token)
    if not _DIGIT.search(body) and not (
        len(body) >= 24 and re.search(r"[a-z][A-Z]{1,3}[a-z]", body) and re.search(r"[A-Z][a-z][A-Z]", body)
    ):
        return False
    drawn = len(set(body)) >= 8 and values.rhythm(body) >= 0.12 and not values.is_sequence(token)
    return drawn and not values.is_documented(token)
