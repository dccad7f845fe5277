"""Runs the rule table over the readings of a text, in linear time, and reports what refuses it and where."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agent_memory.domain.screen import blocks, commands, headers, phrases, prose, urls, values
from agent_memory.domain.screen.assign import STRUCTURE as ASSIGNMENT
from agent_memory.domain.screen.rules import Rule, Structure, is_live, surroundings, window
from agent_memory.domain.screen.tokens import SHARED_SHAPES, VENDOR_TOKENS
from agent_memory.domain.screen.views import (
    BLOB_PATTERN,
    MARKER_PATTERN,
    MAX_BLOBS,
    TooDense,
    View,
    decoded_text,
    readings,
)
from agent_memory.domain.screen.words import word_set

MARKER = "store-marker"  # not the marker itself: the audit row that names the pattern would carry it
TOO_DENSE = "too-dense"
# A field of a record holds no more; whatever stands in one, it is read to its end.
FIELD_CHARS = 16 << 10
# Places found in a longer text over all its readings, and what the different ones cost to judge (`Structure.cost`). A
# text of more is refused unread, so that hostile text cannot buy time. A mebibyte of Python has some 1,700 and 2,200.
MAX_PLACES = 3072
MAX_COST = 2800
TOKEN_COST = 6  # of naming a token and judging how random it is
# What RE2 may keep of one compiled automaton. All token rules in one need 10 MB on text that looks like keys; with the
# 8 MB of RE2's default it forgets them over and over and is fifty times slower. Plain text fills a hundredth.
TABLE_BYTES = 32 << 20
# A text is read in blocks, each with the beginning of the next, so that a locator runs only where its places are.
BLOCK_BYTES = 4096
OVERLAP_BYTES = 512
TOKEN_BLOCK_BYTES = 16384
TOKEN_BYTES = 2048  # of a token that begins in a block: a JSON web token or key is read so far

TOKEN_RULES: tuple[Rule, ...] = VENDOR_TOKENS + SHARED_SHAPES
# Structures whose places are looked for by one automaton: it knows every mixture of them that a text holds, so only
# those that look for the same words, or for few, stand together.
GROUPS: tuple[tuple[Structure, ...], ...] = (
    (ASSIGNMENT, commands.FLAG, blocks.TABLE, blocks.HEADING),
    (headers.SCHEME, headers.COOKIE, urls.USERINFO, urls.BARE_USERINFO, urls.HOOK),
    (prose.STATED, prose.REVERSED, phrases.LOGIN, phrases.PHRASE),
    (commands.TOOL, commands.PIPED, blocks.PAIR, blocks.LINE, blocks.DEVICE),
)
STRUCTURES: tuple[Structure, ...] = tuple(structure for group in GROUPS for structure in group)
# Structures that hold where lines were joined: the others would read two sentences as one.
_ACROSS_LINES = frozenset({"assignment", "authorization", "cookie", "userinfo", "capability-url", "statement"})
WHY: dict[str, str] = {
    MARKER: "the author asked for this text not to be kept",
    TOO_DENSE: "more places that look like credentials than any honest text holds",
    **{rule.name: rule.why for rule in TOKEN_RULES},
    **{name: why for structure in STRUCTURES for name, why in structure.why.items()},
}


@dataclass(frozen=True, slots=True)
class Hit:
    """One refusal: the pattern, and where it stands (character offsets) when it stands in the text as sent."""

    pattern: str
    start: int
    end: int
    plain: bool


@dataclass(slots=True)
class Work:
    """How much a screening did; the tests bound it, for times differ from machine to machine."""

    places: int = 0
    cost: int = 0
    bounded: bool = True
    # Readings repeat most of their places, so a place is judged once: structure, whether lines were joined, and bytes.
    judged: dict[tuple[str, bool, tuple[bytes, bytes, bytes]], str | None] = field(default_factory=dict)

    def add(self, cost: int) -> None:
        """Count a place and what it costs to judge. Raises: TooDense: no honest text needs so much."""
        self.places += 1
        self.cost += cost
        if self.bounded and (self.places > MAX_PLACES or self.cost > MAX_COST):
            raise TooDense


@dataclass(frozen=True, slots=True)
class Group:
    """A few structures, the places of which are looked for in one pass."""

    holds: Any
    locators: tuple[tuple[Structure, Any], ...]
    across: bool  # one of them holds where lines were joined


@dataclass(frozen=True, slots=True)
class Screen:
    """A compiled rule table."""

    rules: tuple[Rule, ...]
    structures: tuple[Structure, ...]
    tokens: Any
    which: Any
    groups: tuple["Group", ...]
    marker: Any
    blob: Any

    def hits(self, text: str, work: Work | None = None) -> Iterator[Hit]:
        """Every refusal in a text, the text as sent first."""
        work = work or Work()
        work.bounded = len(text) > FIELD_CHARS
        try:
            yield from self._hits(text, work)
        except TooDense:
            yield Hit(TOO_DENSE, 0, 0, plain=False)

    def _hits(self, text: str, work: Work) -> Iterator[Hit]:
        for view in readings(text, self.decoded_blobs):
            data = view.data
            for match in self.marker.finditer(data):
                yield _hit(MARKER, data, match.start(), match.end(), view)
            yield from self._tokens(data, view, work)
            yield from self._structures(data, view, work)

    def is_marked(self, text: str) -> bool:
        """Whether the do-not-store marker stands in any reading of the text, or may stand where none can be built."""
        try:
            return any(self.marker.search(view.data) for view in readings(text, self.decoded_blobs))
        except TooDense:
            return True

    def decoded_blobs(self, data: bytes) -> str:
        """The texts that stand in base64 inside a text, one a line."""
        found = (decoded_text(match.group().decode()) for match in islice(self.blob.finditer(data), MAX_BLOBS))
        return "\n".join(blob for blob in found if blob is not None)

    def _tokens(self, data: bytes, view: View, work: Work) -> Iterator[Hit]:
        for match in _token_places(self.tokens, data) if self.rules else ():
            work.add(TOKEN_COST)
            start, end = match.span()
            # The set says which rule it was, for a hundredth of what groups cost RE2. One byte more, for `\\b`.
            name = self.rules[min(self.which.Match(data[start : end + 1]))].name
            if name in _VENDORS and (data[end : end + 1] == b"+" or data[start - 1 : start] == b"+"):
                continue  # three letters and luck, inside base64
            if token_is_live(name, data[start:end].decode("utf-8", "ignore")):
                yield _hit(name, data, start, end, view)

    def _structures(self, data: bytes, view: View, work: Work) -> Iterator[Hit]:
        for structure, (start, end) in self._places(data, joined=view.joined):
            parts = surroundings(data, start, end)
            key = (structure.name, view.joined, parts)
            work.add(0 if key in work.judged else structure.cost)
            if key not in work.judged:
                work.judged[key] = structure.judge(window(parts, joined=view.joined))
            name = work.judged[key]
            if name is not None:
                yield _hit(name, data, start, end, view)

    def _places(self, data: bytes, *, joined: bool) -> Iterator[tuple[Structure, tuple[int, int]]]:
        """Every place of every structure: where a block holds one, its locator runs over the block."""
        read: dict[str, int] = {}  # how far each structure's places reach
        groups = [group for group in self.groups if group.across or not joined]
        for begin in range(0, len(data), BLOCK_BYTES):
            end = begin + BLOCK_BYTES
            block = data[begin : end + OVERLAP_BYTES]
            for group in groups:
                for i in sorted(group.holds.Match(block) or ()):
                    structure, locator = group.locators[i]
                    if joined and structure.name not in _ACROSS_LINES:
                        continue
                    for match in locator.finditer(data, max(begin, read.get(structure.name, 0)), end + OVERLAP_BYTES):
                        span = match.span()
                        if span[0] >= end:
                            break
                        read[structure.name] = span[1]
                        yield structure, span


def _token_places(tokens: Any, data: bytes) -> Iterator[Any]:
    """The places of tokens, each looked for no further than `TOKEN_BYTES` behind the block it begins in.

    A search of the whole would read on from every place for as long as an earlier beginning may still become one.
    """
    read = 0
    for begin in range(0, len(data), TOKEN_BLOCK_BYTES):
        end = begin + TOKEN_BLOCK_BYTES
        for match in tokens.finditer(data, max(begin, read), end + TOKEN_BYTES):
            if match.start() >= end:
                break
            read = match.end()
            yield match


_VENDORS = frozenset(rule.name for rule in VENDOR_TOKENS)
_PUBLIC_PREFIXES = word_set(
    "pk cus pi ch in sub evt price prod acct req msg toolu call resp file run thread asst chatcmpl seti pm src "
    "card txn po re_id tr cs si ii il sha sha1 sha256 sha512 md5 rec tbl viw app fld wsp usr org team proj "
    "user item phc img vol snap ami sg vpc subnet eni i arn build job task step deploy dpl index chunk main "
    "vendor bundle assets step_id trace span node session_id block batch gen cmpl embd ft ftjob srvtoolu "
    "container"
)


_SECRET_PREFIX = re.compile(r"key|tok|sk|pat|secret|api|live|prod|at_|rt_|pk_")


def token_is_live(rule: str, token: str) -> bool:
    """The judgement beside a rule's shape: random enough, and for shared prefixes not a public id."""
    if rule == "prefixed-token":
        prefix, body = re.match(r"[A-Za-z0-9]*", token).group().lower(), re.split(r"[_-]", token)[-1]  # type: ignore[union-attr]
        if prefix in _PUBLIC_PREFIXES or not values.is_random(body, 28) or not is_live(token):
            return False
        mixed = re.search(r"[a-z]", body) is not None and re.search(r"[A-Z]", body) is not None
        return mixed or ("_" in token and _SECRET_PREFIX.search(token[: -len(body)].lower()) is not None)
    if rule in ("private-key", "putty-key", "private-jwk", "private-key-end", "private-key-body", "password-hash"):
        return True
    if rule == "license-key":
        return sum(char.isdigit() for char in token) >= 2 and len(set(token)) >= 8
    return is_live(token)


def _hit(name: str, data: bytes, start: int, end: int, view: View) -> Hit:
    if not view.plain:
        return Hit(name, 0, 0, plain=False)
    return Hit(name, len(data[:start].decode()), len(data[:end].decode()), plain=True)


def _grouped(structures: tuple[Structure, ...]) -> Iterator[tuple[Structure, ...]]:
    for group in GROUPS:
        held = tuple(structure for structure in group if structure in structures)
        if held:
            yield held


def compile_screen(rules: tuple[Rule, ...] = TOKEN_RULES, structures: tuple[Structure, ...] = STRUCTURES) -> Screen:
    """Compile a rule table; about 50 ms, so callers keep the result."""
    import re2  # here and not above: a start that screens nothing need not pay for it

    latin = re2.Options()
    latin.encoding = re2.Options.Encoding.LATIN1  # bytes in, bytes out: offsets need no translation
    latin.log_errors = False
    latin.max_mem = TABLE_BYTES
    every = re2.compile(b"(?i)" + b"|".join(b"(?:" + rule.pattern.encode() + b")" for rule in rules), latin)
    which = re2.Set.MatchSet(latin)
    for rule in rules:
        which.Add(b"(?i)" + rule.pattern.encode())
    which.Compile()
    groups = []
    for group in _grouped(structures):
        holds = re2.Set.SearchSet(latin)
        for structure in group:
            holds.Add(structure.locator)
        holds.Compile()
        locators = tuple((structure, re2.compile(structure.locator, latin)) for structure in group)
        groups.append(Group(holds, locators, any(structure.name in _ACROSS_LINES for structure in group)))
    return Screen(
        rules, structures, every, which, tuple(groups), re2.compile(MARKER_PATTERN), re2.compile(BLOB_PATTERN)
    )


@functools.lru_cache(maxsize=1)
def default() -> Screen:
    """The whole rule table, compiled on first use and kept: it is constant data, not state."""
    return compile_screen()
