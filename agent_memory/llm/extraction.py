"""Turns session notes into typed candidates through a model: the prompt, the door for its reply, what is left out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from agent_memory.domain.specifics import missing_specifics, normalise, specifics_of
from agent_memory.domain.wording import coverage
from agent_memory.llm.chat import STRUCTURED_TOKENS, ChatReply, ChatRequest, Kind, ReplySchema
from agent_memory.llm.errors import BadReply
from agent_memory.llm.fence import Block, fence
from agent_memory.llm.replies import read_object
from agent_memory.llm.router import Router

MAX_CANDIDATES = 12  # of one session; what an agent is asked to review at its next start
PART_CHARS = (
    6_000  # about 1,500 tokens; with instructions and output it stays inside Ollama's 4096-token default context
)
MAX_PARTS = 8  # calls for one session's notes; 48,000 characters are a long session
TITLE_CHARS = 200  # DESIGN.md, Tools
MIN_TITLE_CHARS = 3
MIN_CONTENT_CHARS = 12  # anything shorter says nothing a later session could use, in any script
CONTENT_BYTES = 16 * 1024  # DESIGN.md, Tools
ASKED_CONTENT_CHARS = 1_000  # asked of servers that hold to a schema, so that one memory cannot use up the output cap
TAG_CHARS = 40
MAX_TAGS = 8
GROUNDED_COVERAGE = 0.25  # share of a memory's words that its notes hold; a paraphrase holds half, an invention few
COUNTED_BY_HAND = 12  # a model may count what the notes list; a larger number it did not read is made up
EXTRACTED_CONFIDENCE = 0.5  # below the 0.7 that an agent's own record starts with: nobody has confirmed it

MemoryType = Literal[
    "decision", "constraint", "requirement", "procedure", "preference", "fact", "failure", "open-work"
]  # a session summary is written by the session, not taken from its notes
Screen = Callable[[str], str | None]

_TYPES: tuple[str, ...] = get_args(MemoryType)
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "maxItems": MAX_CANDIDATES,
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": list(_TYPES)},
                    "title": {"type": "string", "minLength": MIN_TITLE_CHARS, "maxLength": TITLE_CHARS},
                    "content": {"type": "string", "minLength": MIN_CONTENT_CHARS, "maxLength": ASKED_CONTENT_CHARS},
                    "tags": {
                        "type": "array",
                        "items": {"type": "string", "maxLength": TAG_CHARS},
                        "maxItems": MAX_TAGS,
                    },
                },
                "required": ["type", "title", "content", "tags"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["memories"],
    "additionalProperties": False,
}
_INSTRUCTIONS = f"""You read the notes of one coding session and write down what later sessions on the same project \
need to know: decisions with their reason, constraints, requirements, procedures, preferences, facts, failures with \
cause and cure, and open work that others must pick up.
Leave out what only mattered during the session: progress, plans for today, states of a branch, one-off readings, \
thanks and greetings. Keep every number, version, path, identifier and quotation exactly as the notes have it. Add \
nothing that the notes do not say. Write each memory so that it can be understood alone, in the language of the notes.
Reply with one JSON object and nothing else:
{{"memories": [{{"type": "…", "title": "…", "content": "…", "tags": ["…"]}}]}}
The type is one of {", ".join(_TYPES)}. A title has at most 100 characters, a content one to four sentences, and there \
are at most {MAX_TAGS} tags of one word. At most {MAX_CANDIDATES} memories, the most useful first; {{"memories": []}} when there is nothing worth keeping."""


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


@dataclass(frozen=True)
class Extraction:
    """What notes gave, and how many memories were left out and why.

    `refused` by screen pattern; `known` as stored already; `malformed` for their form; `ungrounded` since the notes do
    not say them; `over_cap`; `unread_chars` of notes that were too long. `served_by` holds (server, model) pairs.
    """

    candidates: tuple[Candidate, ...]
    refused: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    malformed: int = 0
    ungrounded: int = 0
    over_cap: int = 0
    unread_chars: int = 0
    served_by: tuple[tuple[str, str], ...] = ()


async def extract(router: Router, notes: str, known: Sequence[Known], screen: Screen) -> Extraction:
    """Ask for the memories in a session's notes, part by part where they are long.

    Args:
      notes: what the session left, screened already; past MAX_PARTS parts the rest is not read and is counted.
      known: live records of the same namespace, to leave out what they hold.
      screen: names the secret pattern in a text, or None.
    Raises: NoServerLive, EveryModelFailed: as Router.call, for any part; the job is then tried again as a whole.
    """
    parts, unread = split_notes(notes)
    found: list[Candidate] = []
    malformed = ungrounded = 0
    served_by: dict[tuple[str, str], None] = {}
    for part in parts:
        served = await router.call(extraction_request(part), read_memories)
        memories, bad = served.value
        malformed += bad
        served_by[served.server, served.model] = None
        grounded = [memory for memory in memories if is_grounded(memory, part)]
        ungrounded += len(memories) - len(grounded)
        found += [replace(memory, server=served.server, model=served.model) for memory in grounded]
    return replace(
        select(found, known, screen),
        malformed=malformed,
        ungrounded=ungrounded,
        unread_chars=unread,
        served_by=tuple(served_by),
    )


def extraction_request(notes: str) -> ChatRequest:
    """The request for one part of the notes."""
    fenced = fence([Block("session notes", notes)])
    system = f"{_INSTRUCTIONS}\n\n{fenced.notice}"
    user = f"{fenced.data}\n\nNow write the JSON object with the memories of these session notes."
    return ChatRequest(Kind.EXTRACT, system, user, STRUCTURED_TOKENS, ReplySchema("memories", _SCHEMA))


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


def select(found: Sequence[Candidate], known: Sequence[Known], screen: Screen) -> Extraction:
    """Keep the candidates that carry no secret and add something to what is known and to each other, up to the cap."""
    present: list[Known | Candidate] = list(known)
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
            present.append(one)
    return Extraction(tuple(kept), dict(refused), known=repeated, over_cap=over)


def is_grounded(memory: Candidate, notes: str) -> bool:
    """Whether the notes hold enough of a memory's words, and every number in it past what a reader may have counted."""
    text = f"{memory.title}\n{memory.content}"
    invented = specifics_of(text).numbers - specifics_of(notes).numbers
    small = {str(number) for number in range(COUNTED_BY_HAND + 1)}
    return invented <= small and coverage(memory.content, notes) >= GROUNDED_COVERAGE


def split_notes(notes: str) -> tuple[list[str], int]:
    """Cut notes into parts of at most PART_CHARS, at a paragraph, line or word's end where there is one.

    Returns: the parts without blank ones, and the number of characters that were left unread.
    """
    parts: list[str] = []
    rest = notes.strip()
    while rest and len(parts) < MAX_PARTS:
        end = len(rest) if len(rest) <= PART_CHARS else _cut(rest)
        parts.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return parts, len(rest)


def _cut(text: str) -> int:
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, PART_CHARS // 2, PART_CHARS)
        if at > 0:
            return at
    return PART_CHARS


def _read_memory(entry: object) -> Candidate | None:
    try:
        memory = _Memory.model_validate(entry)
    except ValidationError:
        return None
    if len(memory.content.encode()) > CONTENT_BYTES:
        return None
    tags = dict.fromkeys(tag.strip()[:TAG_CHARS].strip() for tag in memory.tags)
    return Candidate(memory.type, memory.title, memory.content, tuple(filter(None, tags))[:MAX_TAGS])


def _adds_nothing(one: Candidate, other: Known | Candidate) -> bool:
    """Whether the other text has the same content, or the same title and every specific; the rest is for the review."""
    if normalise(one.content) in normalise(other.content):
        return True
    same_title = normalise(one.title) == normalise(other.title)
    return same_title and not missing_specifics(one.content, f"{other.title}\n{other.content}")
