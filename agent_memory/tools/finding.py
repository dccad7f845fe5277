"""Finding records for a query, for search and for packets: plan, vectors, full text, ranking, records."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Annotated, Final, TypeVar

import outcome
import trio
from apsw import Connection
from pydantic import AfterValidator, Field

from agent_memory.domain.evidence import evidence_factor, why
from agent_memory.domain.namespaces import Scopes
from agent_memory.domain.records import Record
from agent_memory.encoder.protocol import Vector
from agent_memory.retrieval.candidates import Candidate
from agent_memory.retrieval.fusion import Ranking, Similarity, is_weak, rank
from agent_memory.retrieval.plan import QueryPlan
from agent_memory.retrieval.remembered import Ranked
from agent_memory.retrieval.sessions import NEIGHBOURS
from agent_memory.retrieval.weights import WEIGHTS
from agent_memory.store import anchors, changes, records, search
from agent_memory.store.search import Facts, Filters
from agent_memory.tools.services import Services

A = TypeVar("A")
B = TypeVar("B")

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
    exclude: tuple[str, ...] = ()
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
    """The hits, which ranking made them, and how full-text search alone did (for the demand signal); as `Ranked`."""

    hits: list[Hit]
    ranking: Ranking
    text_hits: int
    coverage: float
    weak: bool


async def find(services: Services, wanted: Wanted) -> Found:
    """The best records in scope for a query, best first."""
    plan, share = services.indexes.plan(wanted.query), services.indexes.share(wanted.scopes)
    key = _key_to_ask(services, wanted)
    vector = services.query_vectors.kept(key, plan.text)
    text: _ByText | None = None
    if key and vector is None:
        text, vector = await _together(
            partial(services.store.read, partial(_by_text, wanted=wanted, plan=plan, share=share)),
            partial(services.query_vectors.ask, key, plan.text),
        )
    return await services.store.read(
        partial(_find, services=services, wanted=wanted, plan=plan, share=share, key=key, vector=vector, text=text)
    )


def _key_to_ask(services: Services, wanted: Wanted) -> str:
    """Names the model that should encode the query; empty when none should."""
    # Nobody waits for an encoder whose answer could not be used.
    answering = None if wanted.text_only else services.indexes.answering(wanted.scopes)
    # A query that carries a secret goes to no encoder: the external one is another machine.
    if answering is None or services.screen.pattern(wanted.query) is not None:
        return ""
    return answering.key


async def _together(one: Callable[[], Awaitable[A]], other: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Both results, of calls that run at the same time. An error of the first ends the second."""
    found: list[outcome.Maybe[B]] = []

    async def capture() -> None:
        found.append(await outcome.acapture(other))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(capture)
        # Captured, as an error that leaves a nursery comes out in a group.
        first = await outcome.acapture(one)
        if isinstance(first, outcome.Error):
            nursery.cancel_scope.cancel()
    return first.unwrap(), found[0].unwrap()


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
class _ByText:
    """bm25 by id of what the words of the query find, and of what their translations find, best first; and facts of
    those of these records that are not excluded. All that holds for one version of the records.
    """

    version: int
    matched: dict[str, float]
    translated: dict[str, float]
    facts: dict[str, Facts]


def _by_text(conn: Connection, *, wanted: Wanted, plan: QueryPlan, share: float) -> _ByText:
    look_up = partial(
        search.full_text,
        conn,
        scopes=wanted.scopes,
        filters=wanted.filters,
        weights=BM25_WEIGHTS,
        limit=_pool(wanted),
        share=share,
    )
    matched, translated = look_up(plan.match), look_up(plan.translated)
    return _ByText(
        changes.version(conn),
        {facts.id: score for facts, score in matched},
        {facts.id: score for facts, score in translated},
        {facts.id: facts for facts, _ in (*matched, *translated) if not facts.id.startswith(wanted.exclude)},
    )


def _pool(wanted: Wanted) -> int:
    return WEIGHTS.pool + len(wanted.exclude)


@dataclass(frozen=True, slots=True)
class _ByMeaning:
    """How to get (id, cosine) of the nearest records, nearest first; the cosine of others; those between records."""

    near: Callable[[], Sequence[tuple[str, float]]]
    cosines: Callable[[Sequence[str]], dict[str, float]]
    similarity: Similarity


def _by_meaning(conn: Connection, services: Services, wanted: Wanted, key: str, vector: Vector) -> _ByMeaning | None:
    """None when the vectors cannot answer after all: since the query was sent to be encoded, a record may have come
    that waits for its own."""
    answering = services.indexes.answering(wanted.scopes)
    if answering is None or answering.key != key:
        return None
    index, reach = answering.index, answering.reach

    def near() -> Sequence[tuple[str, float]]:
        within = search.filtered_ids(conn, wanted.scopes, wanted.filters) if wanted.filters.any else None
        return index.search(vector, reach, _pool(wanted), within=within)

    return _ByMeaning(near, partial(index.cosines, vector), index.similarity)


def _find(
    conn: Connection,
    *,
    services: Services,
    wanted: Wanted,
    plan: QueryPlan,
    share: float,
    key: str,
    vector: Vector | None,
    text: _ByText | None,
) -> Found:
    """Rank in one visit of the store, in which no record changes: a cosine is that of the text in the hit."""
    version, index = changes.version(conn), services.indexes.vectors.index
    # Read before the vectors are: they may change meanwhile, and nobody then finds again what was made of both states.
    state = (version, index.state if index else None)
    meaning = None if vector is None else _by_meaning(conn, services, wanted, key, vector)
    ranking: Ranking = services.policy.fusion if meaning else "fts5"
    question = _question(wanted, plan, key if meaning else "", ranking)
    ranked = services.remembered.get(question, state)
    if ranked is None:
        text = text or _by_text(conn, wanted=wanted, plan=plan, share=share)
        still = text.version == version
        # A record has changed while the query was encoded: its facts are read again, and the lists are not to be kept.
        ranked = _ranked(conn, wanted, plan, ranking, text if still else replace(text, facts={}), meaning)
        if still:
            services.remembered.put(question, state, ranked)
    rows = records.by_ids(conn, [hit.id for hit in ranked.hits])
    missing = anchors.missing(conn, list(rows))
    hits = [
        Hit(rows[hit.id], hit.score, _why(rows[hit.id], hit.why), hit.cosine, tuple(missing.get(hit.id, ())))
        for hit in ranked.hits
    ]
    return Found(hits, ranked.ranking, ranked.text_hits, ranked.coverage, ranked.weak)


def _question(wanted: Wanted, plan: QueryPlan, key: str, ranking: Ranking) -> bytes:
    """Names all that a ranking depends on beside records and vectors: a digest, as no query is kept in clear."""
    return blake2b(repr((wanted, plan, key, ranking)).encode(), digest_size=16).digest()


def _ranked(
    conn: Connection, wanted: Wanted, plan: QueryPlan, ranking: Ranking, text: _ByText, meaning: _ByMeaning | None
) -> Ranked:
    """Rank what either list holds. Reads nothing but records and vectors: what it returns is kept until they change."""
    near = dict(meaning.near()) if meaning else {}
    facts = text.facts | _facts(conn, wanted, (*text.matched, *text.translated, *near), known=text.facts)
    if meaning:
        facts |= _facts(conn, wanted, _beside(conn, wanted, text, facts), known=facts)
    cosines = near | meaning.cosines([each for each in facts if each not in near]) if meaning else {}
    kept = [_candidate(each, text, cosines) for each in facts.values()]
    if wanted.min_cosine is not None:
        kept = [each for each in kept if each.cosine is not None and each.cosine >= wanted.min_cosine]
    similarity = meaning.similarity if meaning else None
    hits = rank(kept, plan, ranking=ranking, limit=wanted.limit, similarity=similarity)
    return Ranked(tuple(hits), ranking, len(text.matched), _coverage(text.matched, plan), is_weak(kept, plan))


def _facts(conn: Connection, wanted: Wanted, found: Iterable[str], *, known: Mapping[str, Facts]) -> dict[str, Facts]:
    """Facts by id of those of these records that are wanted and not known."""
    ids = [each for each in dict.fromkeys(found) if each not in known and not each.startswith(wanted.exclude)]
    return {each.id: each for each in search.facts(conn, ids, wanted.scopes, wanted.filters)}


def _beside(conn: Connection, wanted: Wanted, text: _ByText, known: Mapping[str, Facts]) -> list[str]:
    """What stands beside the best matches in their session."""
    best = [each for each in list(text.matched)[: WEIGHTS.around] if each in known and known[each].session]
    return search.around(conn, best, scopes=wanted.scopes, filters=wanted.filters, places=NEIGHBOURS)


def _candidate(facts: Facts, text: _ByText, cosines: Mapping[str, float]) -> Candidate:
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
