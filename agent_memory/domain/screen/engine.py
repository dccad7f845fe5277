"""Runs the rule table over the readings of a text, in linear time, and reports what refuses it and where."""

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_memory.domain.screen import blocks, commands, headers, phrases, prose, urls, values
from agent_memory.domain.screen.assign import STRUCTURE as ASSIGNMENT
from agent_memory.domain.screen.locators import BEHIND_BYTES, Finder, compiled
from agent_memory.domain.screen.rules import Rule, Structure, is_live, window
from agent_memory.domain.screen.tokens import SHARED_SHAPES, VENDOR_TOKENS
from agent_memory.domain.screen.views import (
    BLOB_PATTERN,
    MARKER_PATTERN,
    MAX_BLOBS,
    View,
    decoded_text,
    folds,
    readings,
)
from agent_memory.domain.screen.words import word_set
from agent_memory.domain.screen.work import Spend, TooDense, Work

MARKER = "store-marker"  # not the marker itself: the audit row that names the pattern would carry it
TOO_DENSE = "too-dense"
# Microseconds, about: of a place, beside the trying of its locators and the judging, and more where other letters than
# ASCII stand in a text, and more where it was judged to its end and refused; of looking for one shape in a block, and
# before one; of a first look at a token; and of decoding a run of base64.
PLACE_COST, DECODE_COST, HIT_COST, SHAPE_COST, BEFORE_COST, TOKEN_COST, BLOB_COST = 2.5, 2, 8, 70, 2, 3, 4
LONG_BYTES = 64  # of a place, for each microsecond more
Kind = Rule | Structure
Place = tuple[Kind, int, int]  # what may stand there, its first offset and its end
# What RE2 may keep of one compiled automaton; with too little it forgets states over and over, and is fifty times
# slower. Plain text fills a hundredth.
TABLE_BYTES = 32 << 20
# Shapes are looked for in blocks, each with the beginning of the next: what begins in a block is read so far.
BLOCK_BYTES = 8192
OVERLAP_BYTES = 512

MARKED = Rule(
    MARKER,
    (),
    "the author asked for this text not to be kept",
    ("an [do-not-store] entry", "Do\u2010Not\u2010\n  Store"),
    ("please do not store artefacts",),
    vendor=False,
    shape=MARKER_PATTERN.encode(),
)
TOKEN_RULES: tuple[Rule, ...] = (MARKED, *VENDOR_TOKENS, *SHARED_SHAPES)
STRUCTURES: tuple[Structure, ...] = (
    ASSIGNMENT,
    commands.FLAG,
    blocks.TABLE,
    blocks.HEADING,
    prose.STATED,
    prose.REVERSED,
    phrases.LOGIN,
    phrases.PHRASE,
    headers.SCHEME,
    headers.COOKIE,
    urls.USERINFO,
    urls.BARE_USERINFO,
    urls.HOOK,
    commands.TOOL,
    commands.PIPED,
    blocks.PAIR,
    blocks.LINE,
    blocks.DEVICE,
)
# Structures that hold where lines were joined: the others would read two sentences as one.
_ACROSS_LINES = frozenset({"assignment", "authorization", "cookie", "userinfo", "capability-url", "statement"})
WHY: dict[str, str] = {
    TOO_DENSE: "more places that look like credentials than are judged in one text; send it in parts",
    **{rule.name: rule.why for rule in TOKEN_RULES},
    **{name: why for structure in STRUCTURES for name, why in structure.why.items()},
}


@dataclass(frozen=True, slots=True)
class Hit:
    """One refusal: the pattern, and where it stands (offsets in UTF-8) when it stands in the text as sent."""

    pattern: str
    start: int
    end: int
    plain: bool


class Places:
    """Where rules and structures may stand in a reading: by their signs, and by the shapes that no sign tells."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        import re2  # here and not above: a start that screens nothing need not pay for it

        options = re2.Options()
        options.log_errors = False
        options.max_mem = TABLE_BYTES
        self._finder = Finder(kinds)
        self._skipped = {
            reading: tuple(i for i, kind in enumerate(kinds) if not _is_read_for(kind, *reading))
            for reading in itertools.product((False, True), repeat=2)
        }
        self._shapes = tuple(
            (i, kind, re2.compile(b"(?i)" + kind.shape, options), compiled(kind.before))
            for i, kind in enumerate(kinds)
            if kind.shape
        )
        self._holds = re2.Set.SearchSet(options)  # which of the shapes stand in a block, in one pass
        for _, _, shape, _ in self._shapes:
            self._holds.Add(shape.pattern)
        self._holds.Compile()

    def of(self, view: View, work: Work) -> Iterator[Place]:
        """Every place of every kind that the reading is looked through for."""
        skipped = self._skipped[view.joined, view.tokens_only]
        yield from self._finder.places(view.data, skipped, work.spend)
        if self._shapes:
            yield from self._shaped(view.data, skipped, work)

    def _shaped(self, data: bytes, skipped: Collection[int], work: Work) -> Iterator[Place]:
        read = [0] * len(self._shapes)  # how far each kind's places reach
        for begin in range(0, len(data), BLOCK_BYTES):
            end = begin + BLOCK_BYTES
            for i in sorted(self._holds.Match(data[begin : end + OVERLAP_BYTES]) or ()):
                number, kind, shape, before = self._shapes[i]
                if number in skipped:
                    continue
                work.spend(SHAPE_COST)
                for match in shape.finditer(data, max(begin, read[i]), end + OVERLAP_BYTES):
                    if match.start() >= end:
                        break
                    start, read[i] = match.span()
                    if before is not None:
                        work.spend(BEFORE_COST)
                        behind = before(data[max(0, start - BEHIND_BYTES) : start][::-1])
                        if behind is None:
                            continue
                        start -= behind.end()
                    yield kind, start, read[i]


def _is_read_for(kind: Kind, joined: bool, tokens_only: bool) -> bool:
    return isinstance(kind, Rule) or not (tokens_only or (joined and kind.name not in _ACROSS_LINES))


@dataclass(frozen=True, slots=True)
class Screen:
    """A compiled rule table."""

    rules: tuple[Rule, ...]
    structures: tuple[Structure, ...]
    places: Places
    blob: Any

    def hits(self, text: str, work: Work | None = None, *, bounded: bool = True) -> Iterator[Hit]:
        """Every refusal in a text, the text as sent first. Not `bounded`, it is read to its end whatever it costs."""
        work = work or Work()
        work.bounded = bounded
        try:
            yield from self._hits(text, work)
        except TooDense:
            yield Hit(TOO_DENSE, 0, 0, plain=False)

    def _hits(self, text: str, work: Work) -> Iterator[Hit]:
        for view in readings(text, partial(self.decoded_blobs, spend=work.spend), work.spend):
            data = view.data
            cost = PLACE_COST + (0 if data.isascii() else DECODE_COST)
            places = []
            for place in self.places.of(view, work):
                work.spend(cost + (place[2] - place[1]) // LONG_BYTES)
                places.append(place)
            for rule, start, end in places:
                if isinstance(rule, Rule) and _is_token(rule, data, start, end, work):
                    yield _hit(rule.name, start, end, view)
            try:
                yield from self._stated(view, places, work)
            except TooDense:
                if not view.joined:  # the last: a page of nothing but names and values is seldom wrapped inside one
                    raise

    def _stated(self, view: View, places: Iterable[Place], work: Work) -> Iterator[Hit]:
        shown = view.data.decode() if view.data.isascii() else view.data
        for structure, start, end in places:
            if isinstance(structure, Structure):
                work.spend(structure.cost)
                name = structure.judge(window(shown, start, end, joined=view.joined), work.spend)
                if name is not None:
                    yield _hit(name, start, end, view)
                    work.spend(HIT_COST)

    def decoded_blobs(self, data: bytes, spend: Spend) -> str:
        """The texts that stand in base64 inside a text, one a line."""
        blobs = [match.group() for match in itertools.islice(self.blob.finditer(data), MAX_BLOBS)]
        spend(BLOB_COST * len(blobs))
        found = (decoded_text(blob.decode()) for blob in blobs)
        return "\n".join(blob for blob in found if blob is not None)


def _is_token(rule: Rule, data: bytes, start: int, end: int, work: Work) -> bool:
    work.spend(TOKEN_COST)
    if rule.vendor and (data[end : end + 1] == b"+" or data[start - 1 : start] == b"+"):
        return False  # three letters and luck, inside base64
    token = data[start:end].decode("utf-8", "ignore")
    if rule.name == "prefixed-token" and re.split(r"[_-]", token, maxsplit=1)[0].lower() in _PUBLIC_PREFIXES:
        return False  # told first: a lock file has thousands
    work.spend(values.cost_of(token))
    return token_is_live(rule.name, token)


_PUBLIC_PREFIXES = word_set(
    "pk cus pi ch in sub evt price prod acct req msg toolu call resp file run thread asst chatcmpl seti pm src "
    "card txn po re_id tr cs si ii il sha sha1 sha256 sha512 md5 rec tbl viw app fld wsp usr org team proj "
    "user item phc img vol snap ami sg vpc subnet eni i arn build job task step deploy dpl index chunk main "
    "vendor bundle assets step_id trace span node session_id block batch gen cmpl embd ft ftjob srvtoolu "
    "container"
)


_PLAIN_SHAPES = word_set("private-key putty-key private-jwk private-key-end private-key-body password-hash") | {MARKER}
_SECRET_PREFIX = re.compile(r"key|tok|sk|pat|secret|api|live|prod|at_|rt_|pk_")


def token_is_live(rule: str, token: str) -> bool:
    """The judgement beside a rule's shape: random enough, and for shared prefixes not a public id."""
    if rule == "prefixed-token":
        body = re.split(r"[_-]", token)[-1]
        if not values.is_random(body, 28) or not is_live(token):
            return False
        mixed = re.search(r"[a-z]", body) is not None and re.search(r"[A-Z]", body) is not None
        return mixed or ("_" in token and _SECRET_PREFIX.search(token[: -len(body)].lower()) is not None)
    if rule in _PLAIN_SHAPES:
        return True
    if rule == "license-key":
        return sum(char.isdigit() for char in token) >= 2 and len(set(token)) >= 8
    return is_live(token)


def _hit(name: str, start: int, end: int, view: View) -> Hit:
    return Hit(name, start, end, plain=True) if view.plain else Hit(name, 0, 0, plain=False)


def compile_screen(rules: tuple[Rule, ...] = TOKEN_RULES, structures: tuple[Structure, ...] = STRUCTURES) -> Screen:
    """Compile a rule table; some 50 ms, so callers keep the result."""
    import re2

    return Screen(
        rules,
        structures,
        Places([*rules, *structures]),
        re2.compile(BLOB_PATTERN),
    )


@functools.lru_cache(maxsize=1)
def default() -> Screen:
    """The whole rule table, compiled on first use and kept: it is constant data, not state."""
    folds()  # here, so that no text waits for it
    return compile_screen()
