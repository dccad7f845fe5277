"""Where the places of a rule stand: a sign that one automaton finds with all others, and what stands around it."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from agent_memory.domain.screen.work import Spend

CHUNK_BYTES = 16384  # of a text whose signs are looked up at once: hostile text is refused before it is read whole
BEHIND_BYTES = 160  # how far a locator looks back from its sign
OTHERS_COST = 1.3  # times what a pattern costs, where other letters than ASCII stand: it looks for their quotes, too


@dataclass(frozen=True, slots=True)
class Locator:
    """One way in which a kind of place is written.

    Args:
      signs: literals in lower case; one of them stands in every place. The fewer a text holds by chance, the better.
      pattern: `re` syntax over UTF-8, matched without regard to case where the sign begins. It holds on to what it has
        read (possessive) or is bounded, so that a place costs microseconds. Where a group takes part, no place begins
        in what was read: so a run in which sign stands behind sign is read once.
      before: matched against the bytes before the sign read backwards; the place begins where it ends.
      reach: bytes that the pattern reads at most.
      cost: microseconds, about, that trying the pattern takes where a text was made to take long.
    """

    signs: tuple[str, ...]
    pattern: bytes
    before: bytes | None = None
    reach: int = 512
    cost: float = 0.6


class Located(Protocol):
    """A kind of place."""

    @property
    def locators(self) -> tuple[Locator, ...]:
        """Every way in which it is written."""


Kind = TypeVar("Kind", bound=Located)
Match = Callable[[bytes | bytearray, int, int], "re.Match[bytes] | None"]


def signs(words: str) -> tuple[str, ...]:
    """Signs without a space in them."""
    return tuple(words.split())


# Whatever is no letter and may follow a name's last word, and the words behind it that say nothing (`names.NEUTRAL`).
_ENDS = (
    *" \t\r\n\"'`*_()[]{}=:|<>,.;/\\&#!?$%^+~@-0123456789",
    *"“”’«»「」』：（→",
    *signs(
        "val new old text str raw prod dev test live plain data b64 base staging current default main primary "
        "secondary backup hex lit confirm again repeat env"
    ),
)


def ended(words: str) -> tuple[str, ...]:
    """Signs for words too short to look for inside others: each with everything that may follow a name's last word."""
    return tuple(word + end for word in words.split() for end in _ENDS)


def backwards(words: str) -> bytes:
    """An alternation of words (`a|b`) as it reads from its end, for `Locator.before`: the longest that stands there."""
    longest_first = sorted(words.split("|"), key=len, reverse=True)
    return b"(?:" + b"|".join(re.escape(word.encode()[::-1]) for word in longest_first) + b")"


# The tags of HTML, of which some texts are full, and which are no code of anything; and what holds no sign.
_NO_SIGNS = ((b"<code>", b"<---->"), (b"<code ", b"<---- "), (b"</code>", b"</---->"))


class _Way(NamedTuple):
    """A locator as compiled: which kind it belongs to, and its patterns."""

    kind: int
    match: Match
    before: Match | None
    reach: int
    cost: float


Ways = tuple[_Way, ...]


class Finder(Generic[Kind]):
    """Finds the places of several kinds in one pass of an Aho-Corasick automaton over their signs.

    The signs in other letters than ASCII have one of their own, which most texts need not pass: their bytes would make
    every row of the table four times as wide.
    """

    def __init__(self, kinds: Sequence[Kind]) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation  # here: a start that screens nothing need not pay

        by_sign: dict[bytes, Ways] = {}
        for i, kind in enumerate(kinds):
            for locator in kind.locators:
                way = _Way(i, compiled(locator.pattern), compiled(locator.before), locator.reach, locator.cost)
                for sign in locator.signs:
                    by_sign[sign.encode()] = (*by_sign.get(sign.encode(), ()), way)
        plain = {sign: ways for sign, ways in by_sign.items() if sign.isascii()}
        self._letters = _letters(plain)
        plain = {sign.translate(self._letters): ways for sign, ways in plain.items()}
        others = {sign: ways for sign, ways in by_sign.items() if not sign.isascii()}
        self._kinds = tuple(kinds)
        self._ways = (*plain.values(), *others.values())
        self._costs = [sum(way.cost for way in ways) for ways in self._ways]
        self._first_other = len(plain)
        self._longest = max(map(len, by_sign), default=0)
        self._plain: Any = BytesAhoCorasick(plain, implementation=Implementation.DFA)
        self._others: Any = BytesAhoCorasick(others, implementation=Implementation.DFA)

    def places(self, data: bytes, skipped: Iterable[int], spend: Spend) -> Iterator[tuple[Kind, int, int]]:
        """Every place of every kind but some, with its first and its last offset; those of one kind do not overlap.

        `skipped` are the numbers of kinds not to be looked for. `spend` hears what it will cost to try the patterns of
        a chunk, before they are tried.
        """
        size, backwards = len(data), _backwards(data)
        read = [0] * len(self._kinds)  # how far each kind's places reach
        for kind in skipped:
            read[kind] = size
        for begin in range(0, size, CHUNK_BYTES):
            chunk = data[begin : begin + CHUNK_BYTES + self._longest - 1]
            found = self._found(chunk)
            spend(sum([self._costs[sign] for sign, _, _ in found]) * (1 if chunk.isascii() else OTHERS_COST))
            for sign, offset, _ in found:
                if offset >= CHUNK_BYTES:
                    continue  # the next chunk begins with it
                at = begin + offset
                for kind, match, before, reach, _ in self._ways[sign]:
                    if at < read[kind]:
                        continue
                    start = at
                    if before is not None:  # first: it reads less, and tells more
                        behind = before(backwards, size - at, size - at + BEHIND_BYTES)
                        if behind is None:
                            continue
                        start = size - behind.end()
                    place = match(data, at, at + reach)
                    if place is None:
                        continue
                    read[kind] = place.end()
                    if place.lastindex is None:
                        yield self._kinds[kind], start, place.end()

    def _found(self, chunk: bytes) -> list[tuple[int, int, int]]:
        """Which signs stand where in a chunk: number, first offset, end."""
        if b"<code" in chunk:
            for tag, no_sign in _NO_SIGNS:
                chunk = chunk.replace(tag, no_sign)
        found: list[tuple[int, int, int]] = self._plain.find_matches_as_indexes(
            chunk.translate(self._letters), overlapping=True
        )
        if chunk.isascii():
            return found
        others = self._others.find_matches_as_indexes(chunk.lower(), overlapping=True)
        found += [(self._first_other + sign, start, end) for sign, start, end in others]
        return sorted(found, key=itemgetter(1)) if others else found


def _backwards(data: bytes) -> bytearray:
    backwards = bytearray(data)
    backwards.reverse()
    return backwards


def _letters(signs: Mapping[bytes, Ways]) -> bytes:
    """A table for `bytes.translate` that makes ASCII signs, and texts, of as few different letters as can be.

    Case goes, all that stands in no sign becomes one letter, and so do letters of which each may stand for the other in
    every sign, as do most signs that may follow a word. The fewer there are, the smaller and faster the automaton is.
    """
    contexts: dict[int, set[tuple[bytes, bytes, Ways]]] = defaultdict(set)
    for sign, ways in signs.items():
        for i, byte in enumerate(sign):
            contexts[byte].add((sign[:i], sign[i + 1 :], ways))
    letter_of: dict[frozenset[tuple[bytes, bytes, Ways]], int] = {frozenset(): 0}
    folded = [contexts.get(byte, set()) for byte in bytes(range(256)).lower()]
    return bytes(letter_of.setdefault(frozenset(context), len(letter_of)) for context in folded)


def compiled(pattern: bytes | None) -> Any:
    """What matches a pattern where it is told to, without regard to case; nothing for none."""
    return None if pattern is None else re.compile(b"(?i)" + pattern).match
