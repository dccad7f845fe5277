"""Memories as a model wrote them: the door their JSON passes, and which of them are worth keeping as candidates."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from agent_memory.domain.specifics import missing_specifics, normalise
from agent_memory.llm.chat import ChatReply
from agent_memory.llm.errors import BadReply
from agent_memory.llm.replies import read_object

MAX_CANDIDATES = 12  # of one session; what an agent is asked to review at its next start
TITLE_CHARS = 200  # DESIGN.md, Tools
MIN_TITLE_CHARS = 3
MIN_CONTENT_CHARS = 12  # anything shorter says nothing a later session could use, in any script
CONTENT_BYTES = 16 * 1024  # DESIGN.md, Tools
TAG_CHARS = 40
MAX_TAGS = 8

MemoryType = Literal[
    "decision", "constraint", "requirement", "procedure", "preference", "fact", "failure", "open-work"
]  # a session summary is written by the session, not taken from its notes
Screen = Callable[[str], str | None]

TYPES: tuple[str, ...] = get_args(MemoryType)


class _Memory(BaseModel):
    # strict, so that a number or an object is never taken for text; extra keys are dropped, since models add remarks
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    type: MemoryType
    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=MIN_TITLE_CHARS, max_length=TITLE_CHARS)]
    content: Annotated[str, StringConstraints(strip_whitespace=True, min_length=MIN_CONTENT_CHARS)]
    tags: list[str] = []


@dataclass(frozen=True)
class Known:
    """A record that is stored already; a candidate that adds nothing to it is dropped."""

    title: str
    content: str


@dataclass(frozen=True)
class Candidate:
    """A memory taken from notes, with the server and model that wrote it."""

    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    server: str = ""
    model: str = ""

    @property
    def text(self) -> str:
        """Title and content, the text that is checked against the notes."""
        return f"{self.title}\n{self.content}"


@dataclass(frozen=True)
class Selection:
    """The memories that were kept, and how many were not: by screen pattern, as known already, and over the cap."""

    candidates: tuple[Candidate, ...]
    refused: Mapping[str, int]
    known: int
    over_cap: int


def read_memories(reply: ChatReply) -> tuple[tuple[Candidate, ...], int]:
    """Read a reply into memories and the number of entries that did not have the asked form.

    Raises: BadReply: no JSON object with a `memories` list, or not one of its entries has the asked form.
    """
    entries = read_object(reply).get("memories")
    if not isinstance(entries, list):
        raise BadReply("it has no memories list")
    read = [memory for entry in entries if (memory := _read_memory(entry)) is not None]
    if entries and not read:
        raise BadReply(f"none of its {len(entries)} memories has a type, title and content of the asked form")
    return tuple(read), len(entries) - len(read)


def select(found: Sequence[Candidate], known: Sequence[Known], screen: Screen) -> Selection:
    """Keep the candidates that carry no secret and add something to what is known and to each other, up to the cap."""
    present = [_Wording.of(one) for one in known]
    kept: list[Candidate] = []
    refused: Counter[str] = Counter()
    repeated = over = 0
    for one in found:
        pattern = next(filter(None, map(screen, (one.title, one.content, *one.tags))), None)
        if pattern is not None:
            refused[pattern] += 1
        elif any(_adds_nothing(one, other) for other in present):
            repeated += 1
        elif len(kept) == MAX_CANDIDATES:
            over += 1
        else:
            kept.append(one)
            present.append(_Wording.of(one))
    return Selection(tuple(kept), dict(refused), repeated, over)


def _read_memory(entry: object) -> Candidate | None:
    try:
        memory = _Memory.model_validate(entry)
    except ValidationError:
        return None
    if len(memory.content.encode()) > CONTENT_BYTES:
        return None
    tags = dict.fromkeys(tag.strip()[:TAG_CHARS].strip() for tag in memory.tags)
    return Candidate(memory.type, memory.title, memory.content, tuple(filter(None, tags))[:MAX_TAGS])


@dataclass(frozen=True)
class _Wording:
    # normalised once for each record, not once for each pair of record and candidate
    title: str
    content: str
    text: str

    @classmethod
    def of(cls, one: Known | Candidate) -> "_Wording":
        return cls(normalise(one.title), normalise(one.content), f"{one.title}\n{one.content}")


def _adds_nothing(one: Candidate, other: _Wording) -> bool:
    """Whether the other text has the same content, or the same title and every specific; the rest is for the review."""
    if normalise(one.content) in other.content:
        return True
    return normalise(one.title) == other.title and not missing_specifics(one.content, other.text)
