"""What ranking knows about a record, and what it says about it."""

from dataclasses import dataclass


@dataclass(slots=True)  # not frozen: 400 are made for a search, and a frozen one takes three times as long to make
class Candidate:
    """A live record that full-text or vector search brought up; nobody changes one.

    Attributes:
      id: 32 hex digits.
      bm25: as FTS5 gives it for the plan's `match`, lower is better; None when the record does not match.
      translated: the same for the plan's `translated`.
      cosine: between the query and the record's current vector, -1 to 1; None when not computed.
      evidence: earned over asserted confidence, 0 or more; 1 for a record without witnesses.
      created: ISO 8601 UTC, compared as text.
      session: id of the conversation that the record belongs to; empty for none.
      position: its place in the session; neighbours differ by one.
    """

    id: str
    title: str = ""
    content: str = ""
    type: str = ""
    namespace: str = ""
    created: str = ""
    session: str = ""
    position: int = 0
    bm25: float | None = None
    translated: float | None = None
    cosine: float | None = None
    evidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked record: `score` compares hits of one search only; `why` lists what made it up, largest reasons first."""

    id: str
    score: float
    why: tuple[str, ...]
    cosine: float | None = None
