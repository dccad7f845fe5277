"""The review as values: the candidates that wait, and one of them beside the records nearest to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from apsw import Connection

from agent_memory.domain.records import Record
from agent_memory.store import candidates
from agent_memory.store.candidates import PendingCandidate
from agent_memory.tools.finding import Hit
from agent_memory.web.page import wording
from agent_memory.web.page.difference import Piece, difference
from agent_memory.web.page.record_view import RecordView

PAGE_CANDIDATES: Final = 50
COMPARED: Final = 3  # of them word by word


@dataclass(frozen=True, slots=True)
class CandidateLine:
    """A candidate as a line: how old it is and where it came from."""

    id: str
    title: str
    namespace: str
    type: str
    origin: str
    ago: str


@dataclass(frozen=True, slots=True)
class ReviewView:
    """The waiting candidates, oldest first, how many in all, and where the next page starts (None: no more)."""

    lines: tuple[CandidateLine, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A record near the candidate: itself, why it was found, how alike (in percent or empty), and the difference.

    pieces: the difference by words; empty where the texts share too little, or for those further away.
    """

    record: Record
    why: str
    alike: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class CandidateView:
    """A candidate beside its neighbours.

    Fields:
      shown: the candidate as a record.
      neighbours: the nearest first. following: the id of the next waiting candidate, None when it is the last.
      token: for the buttons; None when there are none.
    """

    shown: RecordView
    neighbours: tuple[Neighbour, ...]
    following: str | None
    token: str | None


def read_list(conn: Connection, *, after: str, total: int, now: datetime) -> ReviewView:
    """Read a page of the waiting candidates."""
    rows = candidates.pending(conn, after=after, limit=PAGE_CANDIDATES + 1)
    shown = rows[:PAGE_CANDIDATES]
    return ReviewView(
        lines=tuple(_line(row, now) for row in shown),
        total=total,
        next=shown[-1].id if len(rows) > PAGE_CANDIDATES else None,
    )


def compare(candidate: Record, hits: Sequence[Hit]) -> tuple[Neighbour, ...]:
    """Neighbours with their difference to the candidate, the nearest few word by word. Slow: run it in a thread."""
    new = f"{candidate.title}\n{candidate.content}"
    return tuple(
        Neighbour(
            record=hit.record,
            why=hit.why,
            alike="" if hit.cosine is None else wording.share(hit.cosine),
            pieces=difference(f"{hit.record.title}\n{hit.record.content}", new) if place < COMPARED else (),
        )
        for place, hit in enumerate(hits)
    )


def _line(row: PendingCandidate, now: datetime) -> CandidateLine:
    return CandidateLine(row.id, row.title, row.namespace, row.type, row.origin, wording.ago(row.created_at, now))
