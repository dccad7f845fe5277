"""Rules of the standing questions: which are worth answering, when an answer is stale, how long it may be."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from agent_memory.domain.specifics import normalise
from agent_memory.domain.wording import content_words

ANSWER_CHARS = 800  # of a stored answer: four sentences of about 200 characters
ANSWER_SENTENCES = 4  # seed, Standing questions
NO_ANSWER = "No record in scope answers this."
SOURCES = 8  # records shown to the answering model; at most about 2,000 tokens with RECORD_CHARS of the prompt

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]\u201d\u2019]*\s+(?=[^a-z\s])|(?<=[\u3002\uff01\uff1f])|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|z\.b|d\.h|etc|approx|vs|cf|no|fig|dr|mr|mrs|ca|bzw)|\b[A-Z])\.\Z", re.IGNORECASE
)


@dataclass(frozen=True)
class Ask:
    """One search that a session made: `answered` in [0, 1] says how well its best full-text hit covered it."""

    text: str
    answered: float
    asked_at: datetime


@dataclass(frozen=True)
class Demand:
    """A question sessions ask: its latest wording, how often, how well answered in [0, 1], and its rank's score."""

    question: str
    asked: int
    answered: float
    last_asked_at: datetime
    score: float


@dataclass(frozen=True)
class Source:
    """A record that an answer may rest on; `updated_at` is the timestamp as stored (UTC ISO 8601)."""

    id: str
    updated_at: str
    title: str
    content: str


@dataclass(frozen=True)
class Standing:
    """A standing question at refresh time: `basis` of its stored answer (None: never answered), `current` basis now."""

    id: str
    basis: str | None
    current: str
    attempted_at: datetime | None


def demand_score(asked: int, answered: float) -> float:
    """Score of a question: asked often AND answered badly.

    `log2(1 + asked) * (1 - answered) ** 2`: the logarithm keeps a hook that repeats one prompt from drowning the rest,
    the square takes a well-answered question near zero however often it is asked.
    """
    return math.log2(1 + asked) * (1 - min(1.0, max(0.0, answered))) ** 2


def rank_demand(asks: Iterable[Ask], limit: int = 20) -> list[Demand]:
    """Rank what sessions asked, highest score first, then the most asked, then by wording.

    Searches with the same content words are one question, shown in its latest wording; `answered` is their mean.
    """
    groups: defaultdict[tuple[str, ...], list[Ask]] = defaultdict(list)
    for ask in asks:
        key = tuple(sorted(content_words(ask.text))) or (normalise(ask.text),)
        groups[key].append(ask)
    demands = [_demand(group) for group in groups.values()]
    return sorted(demands, key=lambda one: (-one.score, -one.asked, one.question))[:limit]


def basis_of(sources: Iterable[Source]) -> str:
    """Digest of the id, timestamp and text of every source, whatever their order; equal strings mean a fresh answer.

    Each field carries its length, so that no two different sets of sources write the same bytes.
    """
    digest = sha256()
    for source in sorted(sources, key=lambda one: one.id):
        for field in (source.id, source.updated_at, source.title, source.content):
            data = field.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def is_stale(basis: str, current: str) -> bool:
    """Whether an answer rests on other sources, or other versions of them, than the ones in scope now."""
    return basis != current


def next_refresh(questions: Sequence[Standing]) -> str | None:
    """The one question to answer at an idle poll: the fresh ones are left, the longest unattempted goes first."""
    waiting = [one for one in questions if one.basis is None or is_stale(one.basis, one.current)]
    if not waiting:
        return None
    return min(waiting, key=lambda one: (one.attempted_at is not None, one.attempted_at or datetime.min, one.id)).id


def cut_answer(text: str) -> str:
    """An answer as it goes into the store: at most four sentences and ANSWER_CHARS characters, on one line.

    A cut inside a sentence ends in an ellipsis at a word's end where there is one. Cutting twice changes nothing more.
    """
    whole = " ".join(_sentences(text)[:ANSWER_SENTENCES])
    if len(whole) <= ANSWER_CHARS:
        return whole
    head = whole[: ANSWER_CHARS - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > ANSWER_CHARS // 2 else head).rstrip(" ,;:.") + "…"


def _demand(group: Sequence[Ask]) -> Demand:
    latest = max(group, key=lambda ask: (ask.asked_at, ask.text))
    answered = sum(ask.answered for ask in group) / len(group)
    return Demand(latest.text, len(group), answered, latest.asked_at, demand_score(len(group), answered))


def _sentences(text: str) -> list[str]:
    sentences: list[str] = []
    for piece in _SENTENCE_END.split(text):
        one = " ".join(piece.split())
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] = f"{sentences[-1]} {one}".rstrip()
        elif one:
            sentences.append(one)
    return sentences
