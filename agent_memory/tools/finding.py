"""Finding records for a query, for search and for packets: plan, vectors, full text, ranking, records."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Final

import outcome
import trio
from apsw import Connection
from pydantic import AfterValidator, Field

from agent_memory.domain.errors import ServiceError
from agent_memory.domain.evidence import evidence_factor, why
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import Record
from agent_memory.encoder.index import VectorIndex
from agent_memory.encoder.protocol import Vector
from agent_memory.retrieval.candidates import Candidate
from agent_memory.retrieval.fusion import Ranking, is_weak, rank
from agent_memory.retrieval.plan import QueryPlan
from agent_memory.retrieval.weights import WEIGHTS
from agent_memory.store import anchors, records, search
from agent_memory.store.search import Facts, Filters
from agent_memory.tools.services import Services

QUERY_READ_CHARS: Final = 4_000  # planning takes the event loop's time: 10 ms for these, 3 s for a pasted megabyte
Query = Annotated[str, Field(min_length=1), AfterValidator(lambda text: text[:QUERY_READ_CHARS])]
BM25_WEIGHTS: Final = (WEIGHTS.bm25_title, WEIGHTS.bm25_content, WEIGHTS.bm25_terms)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One search, checked; `text_only` leaves the vectors out."""

    query: str
    scopes: Scopes
    limit: int
    filters: Filters = field(default_factory=Filters)
    exclude: Sequence[str] = ()
    min_cosine: float | None = None
    text_only: bool = False


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
    """The hits, which ranking made them, and how full-text search alone did (for the demand signal).

    Attributes:
      text_hits: records that hold a word of the query, at most the pool's size.
      coverage: how near the best of them comes to an ideal match, 0 to 1.
      weak: whether nothing found is convincing.
    """

    hits: list[Hit]
    ranking: Ranking
    text_hits: int
    coverage: float
    weak: bool


async def find(services: Services, wanted: Wanted) -> Found:
    """The best records in scope for a query, best first. Full text and vectors are searched beside each other."""
    plan = services.indexes.plan(wanted.query)
    near: _Near | None = None
    async with trio.open_nursery() as nursery:

        async def by_meaning() -> None:
            nonlocal near
            near = await _by_meaning(services, wanted, plan)

        nursery.start_soon(by_meaning)
        # Captured, as an error that leaves a nursery comes out as a group.
        by_text = await outcome.acapture(services.store.read, partial(_by_text, wanted=wanted, plan=plan))
        if isinstance(by_text, outcome.Error):
            nursery.cancel_scope.cancel()
    text = by_text.unwrap()
    return await services.store.read(
        partial(_ranked, services=services, wanted=wanted, plan=plan, text=text, near=near)
    )


async def earlier_like(services: Services, candidate: Record, limit: int) -> list[Hit]:
    """What is most like a candidate in its namespace's reach: active records, and candidates that waited before it.

    The nightly review and the person at the page compare it with the same ones.
    """
    wanted = Wanted(
        query=f"{candidate.title}\n{candidate.content}"[:QUERY_READ_CHARS],
        scopes=services.scopes(candidate.namespace),
        limit=limit,
        exclude=(candidate.id,),
        filters=Filters(candidates_before=candidate.id),
    )
    return (await find(services, wanted)).hits


@dataclass(frozen=True, slots=True)
class _Text:
    """bm25 by id of what the words of the query find, and what their translations find."""

    matched: dict[str, float]
    translated: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Near:
    """Ids of the nearest records, and what was compared."""

    ids: list[str]
    index: VectorIndex
    vector: Vector


def _by_text(conn: Connection, *, wanted: Wanted, plan: QueryPlan) -> _Text:
    return _Text(_matches(conn, plan.match, wanted), _matches(conn, plan.translated, wanted))


def _matches(conn: Connection, match: str, wanted: Wanted) -> dict[str, float]:
    found = search.full_text(conn, match, wanted.scopes, wanted.filters, weights=BM25_WEIGHTS, limit=WEIGHTS.pool)
    return dict(found)


async def _by_meaning(services: Services, wanted: Wanted, plan: QueryPlan) -> _Near | None:
    """The records nearest to the query; None when the vectors cannot answer, and full text does alone."""
    # Nothing waits for an encoder whose answer could not be used.
    if wanted.text_only or (answering := services.indexes.answering(wanted.scopes)) is None:
        return None
    # A query that carries a secret goes to no encoder: the external one is another machine.
    if services.screen.pattern(wanted.query) is not None:
        return None
    vector = await services.query_vectors.get(answering.key, plan.text)
    if vector is None:
        return None
    within = None
    if wanted.filters.any:
        passing = partial(search.filtered_ids, scopes=wanted.scopes, filters=wanted.filters)
        try:
            within = await services.store.read(passing)
        except ServiceError:  # full text meets the same store, and says so
            return None
    nearest = partial(answering.index.search, vector, answering.reach, WEIGHTS.pool, within=within)
    near = await trio.to_thread.run_sync(nearest)
    return _Near([record_id for record_id, _ in near], answering.index, vector)


def _ranked(
    conn: Connection, *, services: Services, wanted: Wanted, plan: QueryPlan, text: _Text, near: _Near | None
) -> Found:
    found = [*text.matched, *text.translated]
    cosines: dict[str, float] = {}
    ranking: Ranking = "fts5"
    similarity = None
    # Between two visits of the store records come and change. Now nothing does: if every record still has its vector,
    # the cosines are those of the texts that are read here.
    answering = services.indexes.answering(wanted.scopes)
    if near is not None and answering is not None and answering.index is near.index:
        found += near.ids
        cosines = near.index.cosines(near.vector, found)
        ranking, similarity = services.policy.fusion, near.index.similarity
    kept = [
        candidate
        for facts in search.facts(conn, list(dict.fromkeys(found)), wanted.scopes, wanted.filters)
        if _is_kept(candidate := _candidate(facts, text, cosines), wanted)
    ]
    ranked = rank(kept, plan, ranking=ranking, limit=wanted.limit, similarity=similarity)
    rows = records.by_ids(conn, [hit.id for hit in ranked])
    missing = anchors.missing(conn, list(rows))
    hits = [
        Hit(rows[hit.id], hit.score, _why(rows[hit.id], hit.why), hit.cosine, tuple(missing.get(hit.id, ())))
        for hit in ranked
    ]
    return Found(hits, ranking, len(text.matched), _coverage(text.matched, plan), is_weak(kept, plan))


def _is_kept(candidate: Candidate, wanted: Wanted) -> bool:
    if any(candidate.id.startswith(entry) for entry in wanted.exclude):
        return False
    return wanted.min_cosine is None or (candidate.cosine is not None and candidate.cosine >= wanted.min_cosine)


def _candidate(facts: Facts, text: _Text, cosines: dict[str, float]) -> Candidate:
    # By position, in the order of the fields: keywords cost 400 candidates a third of a millisecond.
    return Candidate(
        facts.id,
        facts.title,
        facts.content,
        facts.type,
        facts.namespace,
        facts.created_at,
        # Two projects may use the same session id; their records are no conversation.
        f"{facts.namespace} {facts.session}" if facts.session else "",
        facts.session_place or 0,
        text.matched.get(facts.id),
        text.translated.get(facts.id),
        cosines.get(facts.id),
        evidence_factor(facts.confidence, facts.effective_confidence),
    )


def _why(record: Record, reasons: Sequence[str]) -> str:
    return "; ".join((*reasons, why(record.proof_count, record.refutation_count)))


def _coverage(matched: dict[str, float], plan: QueryPlan) -> float:
    best = -min(matched.values(), default=0.0)
    return min(best / (plan.ideal * WEIGHTS.ideal), 1.0) if plan.ideal > 0 else 0.0
