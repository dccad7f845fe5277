"""Finding records for a query: full-text candidates, ranking and the records themselves, for search and for packets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apsw import Connection

from agent_memory.domain.evidence import evidence_factor, why
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import Record
from agent_memory.retrieval.query import fts_query, query_terms
from agent_memory.store import anchors, records, search
from agent_memory.tools.services import Services

CANDIDATES: Final = 200  # of each list that goes into ranking


@dataclass(frozen=True, slots=True)
class Wanted:
    """One search, checked."""

    query: str
    scopes: Scopes
    limit: int
    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    exclude: Sequence[str] = ()
    min_cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked record; `score` orders within one answer only, `cosine` is None under full-text ranking."""

    record: Record
    score: float
    why: str
    cosine: float | None
    missing_anchors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The hits, which ranking made them, and how full-text search alone did (for the demand signal)."""

    hits: list[Hit]
    ranking: str
    text_hits: int
    coverage: float


async def find(services: Services, wanted: Wanted) -> Found:
    """The best records in scope for a query, best first."""
    terms = query_terms(wanted.query)

    def work(conn: Connection) -> Found:
        matches = search.full_text(
            conn, fts_query(terms), wanted.scopes, types=wanted.types, tags=wanted.tags, limit=CANDIDATES
        )
        kept = [match for match in matches if not any(match.id.startswith(entry) for entry in wanted.exclude)]
        scored = sorted(
            (-match.bm25 * evidence_factor(match.confidence, match.effective_confidence), match.id) for match in kept
        )
        best = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[: wanted.limit]
        if wanted.min_cosine is not None:
            best = []  # full-text ranking knows no similarity, so nothing is known to be that similar
        rows = records.by_ids(conn, [record_id for _, record_id in best])
        missing = anchors.missing(conn, list(rows))
        hits = [
            Hit(
                rows[record_id],
                score,
                why(rows[record_id].proof_count, rows[record_id].refutation_count),
                None,
                tuple(missing.get(record_id, ())),
            )
            for score, record_id in best
        ]
        return Found(hits, "fts5", len(matches), coverage(terms, matches[0].title if matches else ""))

    return await services.store.read(work)


def coverage(terms: Sequence[str], text: str) -> float:
    """The share of a query's terms that a text holds, 0 to 1."""
    folded = text.casefold()
    return sum(term.casefold() in folded for term in terms) / len(terms) if terms else 0.0
