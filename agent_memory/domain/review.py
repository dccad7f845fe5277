"""Rules of the candidate review: what a verdict may do and when a candidate expires; asks no model, stores nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent_memory.domain.orders import gives_orders
from agent_memory.domain.specifics import missing_specifics

NEIGHBOURS = 5  # records shown beside a candidate (seed, Candidate review)
MIN_WORKERS = 2  # of a review run; one per live server otherwise (seed, Model server)
AGENTS_WORD = frozenset({"decision", "constraint", "requirement", "procedure", "preference"})
"""Types that an agent stored on purpose to last; a model may not call them session state."""


class Origin(StrEnum):
    """Who wrote a record, in the words of domain/records: a model from session notes, an agent, an import, a close."""

    EXTRACTED = "extraction"
    AGENT = "agent"
    IMPORTED = "import"
    SUMMARY = "summary"


class VerdictKind(StrEnum):
    """What the reviewer may say of a candidate."""

    DUPLICATE = "duplicate"
    SESSION_STATE = "session-state"
    KEEP = "keep"


@dataclass(frozen=True)
class Shown:
    """A record as the reviewer sees it; `revision` is the one that was read, and a forget applies only to it."""

    id: str
    type: str
    title: str
    content: str
    origin: Origin
    revision: int = 1

    @property
    def text(self) -> str:
        """Title and content, the text that verdicts are checked against."""
        return f"{self.title}\n{self.content}"


@dataclass(frozen=True)
class Verdict:
    """What the reviewer answered; `duplicate_of` is a record id and is empty unless the kind is duplicate."""

    kind: VerdictKind
    duplicate_of: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Ruling:
    """What happens to a candidate: `forget` or not, and `refused` names the guard that stopped a forget, if one did."""

    forget: bool
    verdict: Verdict
    refused: str = ""


def rule(candidate: Shown, neighbours: Sequence[Shown], verdict: Verdict) -> Ruling:
    """Decide what a verdict does, by the guards of the seed's Candidate review table.

    A candidate whose text gives its reviewer orders is never forgotten by a verdict, whatever the verdict says.

    Args:
      candidate: the candidate as it was shown.
      neighbours: the records shown beside it; only these may be named as its duplicate.
      verdict: the reviewer's answer.
    """
    if verdict.kind is VerdictKind.KEEP:
        return Ruling(False, verdict)
    refused = "orders" if gives_orders(candidate.text) else _refusal(candidate, neighbours, verdict)
    return Ruling(not refused, verdict, refused)


def _refusal(candidate: Shown, neighbours: Sequence[Shown], verdict: Verdict) -> str:
    if verdict.kind is VerdictKind.SESSION_STATE:
        return "" if may_be_session_state(candidate) else "agents-word"
    named = next((record for record in neighbours if record.id == verdict.duplicate_of), None)
    if named is None or named.id == candidate.id:
        return "not-shown"
    return duplicate_refusal(candidate, named)


def may_be_session_state(candidate: Shown) -> bool:
    """Whether a session-state verdict may touch it: extracted, or an agent's record of a passing type.

    A session's closing summary is the agent's own; an import is neither and stays.
    """
    if candidate.origin is Origin.EXTRACTED:
        return True
    return candidate.origin in {Origin.AGENT, Origin.SUMMARY} and candidate.type not in AGENTS_WORD


def duplicate_refusal(candidate: Shown, named: Shown) -> str:
    """The guard that keeps a candidate from being a duplicate of a shown record, or an empty string.

    Returns: "session-summary" (a summary stands in for another type), "specifics" (it lacks a number, version, path,
      identifier or quoted phrase of the candidate), or "".
    """
    if named.type == "session-summary" and candidate.type != "session-summary":
        return "session-summary"
    return "specifics" if missing_specifics(candidate.text, named.text) else ""


def is_expired(origin: Origin, created_at: datetime, now: datetime, expiry_days: int) -> bool:
    """Whether a pending candidate has waited too long for review and is forgotten without a verdict.

    Args:
      origin: only extracted candidates expire; what an agent stored never does.
      created_at: when it was written, with a time zone.
      now: the present, with a time zone.
      expiry_days: days it may wait; 0 turns expiry off.
    """
    if expiry_days <= 0 or origin is not Origin.EXTRACTED:
        return False
    return now - created_at >= timedelta(days=expiry_days)


def worker_count(live_servers: int) -> int:
    """Workers of one review run: one per live server and at least two, so that candidates split between hosts."""
    return max(MIN_WORKERS, live_servers)
