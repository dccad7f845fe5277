"""Turns session notes into typed candidates through a model: splits them, asks, and sums up what came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent_memory.domain.grounding import is_grounded
from agent_memory.llm.chat import STRUCTURED_TOKENS, ChatRequest, Kind, ReplySchema
from agent_memory.llm.fence import Block, fence
from agent_memory.llm.memories import (
    MAX_CANDIDATES,
    MAX_TAGS,
    MIN_CONTENT_CHARS,
    MIN_TITLE_CHARS,
    TAG_CHARS,
    TITLE_CHARS,
    TYPES,
    Candidate,
    Known,
    Screen,
    read_memories,
    select,
)
from agent_memory.llm.router import Router

PART_CHARS = 6_000  # about 1,500 tokens: with instructions and output it fits Ollama's 4096-token default context
MAX_PARTS = 8  # calls for one session's notes; 48,000 characters are a long session
ASKED_CONTENT_CHARS = 1_000  # asked of servers that hold to a schema, so that one memory cannot use up the output cap
EXTRACTED_CONFIDENCE = 0.5  # below the 0.7 that an agent's own record starts with: nobody has confirmed it

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "maxItems": MAX_CANDIDATES,
            "items": {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": list(TYPES)},
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
The type is one of {", ".join(TYPES)}. A title has at most 100 characters, a content one to four sentences, and there \
are at most {MAX_TAGS} tags of one word. At most {MAX_CANDIDATES} memories, the most useful first; \
{{"memories": []}} when there is nothing worth keeping."""


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
        grounded = [memory for memory in memories if is_grounded(memory.text, part)]
        ungrounded += len(memories) - len(grounded)
        found += [replace(memory, server=served.server, model=served.model) for memory in grounded]
    kept = select(found, known, screen)
    return Extraction(
        candidates=kept.candidates,
        refused=kept.refused,
        known=kept.known,
        over_cap=kept.over_cap,
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
